"""Words that say nothing about what is sought, by language; for queries, never for documents.

The lists are short on purpose: articles, pronouns, prepositions, conjunctions, auxiliaries and
question words. A word that is often a name or a subject (will, may, us) is left out.
"""

from __future__ import annotations

from functools import cache

from engine.text import fold, primary_language

_LISTS = {
    "en": """
        a an the this that these those and or but nor so if than then as at by for from in
        into of off on onto out over to up with without about am is are was were be been
        being do does did doing have has had having can could should would shall must i me
        my mine you your yours he him his she her hers it its we our ours they them their
        theirs what which who whom whose when where why how there here not no dont doesnt
        didnt isnt arent wasnt werent hasnt havent hadnt cant couldnt wouldnt shouldnt wont
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder aber denn wenn als
        wie so an am auf aus bei beim bis durch für gegen in im ins mit nach ohne über um
        unter von vom vor zu zum zur bin bist ist sind war waren wird werden wurde wurden
        sein haben hat hatte hatten kann können muss müssen soll sollte ich mich mir du dich
        dir er ihn ihm sie ihr es wir uns euch ihnen mein dein sich was welche welcher
        welches wer wem wen wann wo warum wieso wozu nicht kein keine auch noch nur dass ob
        da dort hier
    """,
    "fr": """
        le la les l un une des du de d et ou mais donc or ni car si que qu qui quoi dont où
        quand comment pourquoi quel quelle quels quelles à au aux en dans par pour sur sous
        avec sans vers chez entre est sont était étaient être été a ont avait avoir ai as je
        j me m tu te t il elle on nous vous ils elles lui leur leurs mon ma mes ton ta tes
        son sa ses notre nos votre vos ce c cet cette ces cela ça se s y ne n pas plus
    """,
    "es": """
        el la los las lo un una unos unas y e o u pero sino ni si que qué quien quién
        quienes cual cuál cuales cuando cuándo donde dónde como cómo por para con sin de del
        a al en entre sobre desde hasta es son era eran fue fueron ser sido está están
        estaba ha han había haber yo me mi mis tú te tu tus él ella ello nosotros vosotros
        ellos ellas le les se su sus nos os este esta esto estos estas ese esa eso esos esas
        no
    """,
    "it": """
        il lo la i gli le l un uno una e ed o ma se che chi cui quale quali quando dove come
        perché di del dello della dei degli delle a al allo alla ai agli alle da dal dalla
        dai in nel nella nei nelle con su sul sulla per tra fra è sono era erano essere
        stato ha hanno aveva avere io mi tu ti lui lei noi ci voi vi loro si mio tuo suo
        nostro vostro questo questa questi queste quello quella non
    """,
    "pt": """
        o a os as um uma uns umas e ou mas se que quem qual quais quando onde como porque de
        do da dos das em no na nos nas ao à aos às por pelo pela para com sem sobre entre é
        são era eram foi foram ser sido está estão estava tem têm tinha ter eu me tu te ele
        ela nós vós eles elas lhe lhes meu minha seu sua este esta isto esse essa isso não
    """,
    "nl": """
        de het een en of maar want als dan dat die dit deze er hier daar in op aan van voor
        met zonder bij naar uit over onder door om te tot is zijn was waren wordt worden
        werd heeft hebben had hadden kan kunnen moet moeten ik mij me jij je u hij hem zij
        ze haar wij we ons jullie hun mijn wie wat welke waar wanneer waarom hoe niet geen
        ook nog
    """,
    "sv": """
        en ett den det de och eller men om som att är var vara varit har hade ha kan ska
        skulle i på av för med utan till från vid under över efter jag mig du dig han honom
        hon henne vi oss ni er dem min din sin sitt vem vad vilken vilket vilka när hur
        varför inte
    """,
}


@cache
def stop_words(lang: str) -> frozenset[str]:
    """The stop words of a language, folded as the text analysis folds; empty for unknown ones."""
    return frozenset(fold(_LISTS.get(primary_language(lang), "")).split())


@cache
def every_stop_word() -> frozenset[str]:
    """The stop words of all languages, for texts of any."""
    return frozenset().union(*map(stop_words, _LISTS))
