"""The summariser that is built in: whose sentences it chooses, and that it invents nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.digests.extractive import Extractive, read_back
from engine.digests.sentences import sentences, shortened
from engine.errors import SummariserFailed
from engine.ports import Text
from engine.tokens import bytes4, counter

PUMPS = (
    Text(1, "note/seal", "Seal", ("Pumps overheat when the seal of the pump leaks.\n",)),
    Text(2, "note/heat", "Heat", ("# Heat\n\nA pump that overheats has a leaking seal.\n",)),
    Text(3, "note/pump", "Pump", ("The pump needs a new seal each year. Paint it green.\n",)),
    Text(4, "note/cake", "Cake", ("Whisk four eggs with sugar until pale.\n",)),
)


def said(text: str) -> list[str]:
    return [sentence for _, sentence in sentences(text)]


def bare(text: str) -> str:
    """A text without blanks and the signs that list items, quotations and headings begin with."""
    return re.sub(r"[\s>#-]", "", text)


# -- sentences ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One thing. Another? A third!", ["One thing.", "Another?", "A third!"]),
        ("Wrapped\nover lines.  Two\tblanks.", ["Wrapped over lines.", "Two blanks."]),
        ("See Dr. Who, e.g. on p. 3. Then go.", ["See Dr. Who, e.g. on p. 3. Then go."]),
        ("Version 2.4.10 is out. It works.", ["Version 2.4.10 is out.", "It works."]),
        ("He said “no.” She left.", ["He said “no.”", "She left."]),
        ("泵过热。密封漏了！换吗？", ["泵过热。", "密封漏了！", "换吗？"]),
        ("「過熱した。」次に行く。", ["「過熱した。」", "次に行く。"]),
        ("पंप गरम है। सील बदलो।", ["पंप गरम है।", "सील बदलो।"]),
        ("هل المضخة ساخنة؟ نعم.", ["هل المضخة ساخنة؟", "نعم."]),
        ("Բարեւ։ Երկրորդ։", ["Բարեւ։", "Երկրորդ։"]),
        ("", []),
        ("   \n\n", []),
    ],
)
def test_sentences_of_any_script(text: str, expected: list[str]) -> None:
    assert said(text) == expected


def test_thai_is_cut_at_its_blanks_where_it_would_be_too_long() -> None:
    clause = "ปั๊มร้อนเกินไปเพราะซีลรั่วและต้องเปลี่ยนซีลใหม่ทุกปีตามคู่มือ"
    assert said(" ".join([clause] * 8)) == [clause] * 8
    assert said(f"{clause} {clause}") == [f"{clause} {clause}"]


def test_only_prose_has_sentences() -> None:
    text = """\
# A heading. With a stop.

Setext too.
===========

Prose one.

```sh
echo "no sentence. None."
```

    indented code. Not this.

| a table. | no. |
|----------|-----|
| a row.   | no. |

<div>html. no.</div>

<!-- a comment. no. -->

- [ ] an item to do.
- another **bold.** Item two.
  - nested item.

> quoted over
> two lines.

[ref]: http://example.org "no. title"

***
"""
    assert said(text) == [
        "Prose one.",
        "an item to do.",
        "another **bold.**",
        "Item two.",
        "nested item.",
        "quoted over two lines.",
    ]


def test_a_line_of_dots_is_no_work() -> None:
    assert said("a" + "." * 1_000_000) == ["a" + "." * 1_000_000]


def test_a_sentence_tells_its_line() -> None:
    assert list(sentences("# H\n\nOne\ntwo. Three.\nFour.\n")) == [
        (2, "One two."), (3, "Three."), (4, "Four.")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("One thing. Another thing.", 25, "One thing. Another thing."),
        ("One thing. Another thing.", 24, "One thing. "),
        ("One thing. Another thing.", 11, "One thing. "),
        ("One thing. Another thing.", 9, ""),
        ("- one\n- two\n\nThree is long", 20, "- one\n- two\n"),
        ("See Dr. Who. Then go.", 16, "See Dr. Who. "),
        ("泵过热。密封漏了！", 6, "泵过热。"),
        ("word " * 100, 50, ""),
        ("One. Two.", 0, ""),
    ],
)
def test_a_text_is_shortened_by_whole_sentences(text: str, most: int, expected: str) -> None:
    assert shortened(text, most) == expected


# -- the digest -----------------------------------------------------------------------


def test_what_most_texts_say_comes_before_what_one_says() -> None:
    digest = Extractive().summarise(PUMPS, 40)
    assert "note/seal\n- Pumps overheat when the seal of the pump leaks." in digest
    assert "eggs" not in digest
    assert "Paint" not in digest


def test_each_sentence_stands_under_its_engram_in_the_order_of_the_texts() -> None:
    assert Extractive().summarise(PUMPS, 1000) == (
        "note/seal\n- Pumps overheat when the seal of the pump leaks.\n"
        "note/heat\n- A pump that overheats has a leaking seal.\n"
        "note/pump\n- The pump needs a new seal each year.\n"
        "note/cake\n- Whisk four eggs with sugar until pale."
    )


def test_what_is_said_twice_is_told_once() -> None:
    line = "The pump is checked every Monday by the shift lead.\n"
    twice = [Text(n, f"note/{n}", "", (f"# {n}\n\n{line}",)) for n in range(5)]
    assert Extractive().summarise(twice, 1000) == f"note/0\n- {line.strip()}"


def test_the_vectors_decide_where_words_cannot() -> None:
    near, far = np.eye(8, dtype=np.float32)[:2]
    texts = [
        Text(n, f"note/{n}", "", (f"Alpha{n} beta{n} gamma{n} delta{n}.",), vector[None, :])
        for n, vector in enumerate([far, near, near, near])
    ]
    room = counter("o200k")("note/1\n- Alpha1 beta1 gamma1 delta1.")
    assert Extractive().summarise(texts, room).startswith("note/1\n")


def test_a_passage_without_a_vector_is_no_worse_than_the_others() -> None:
    one = np.eye(4, dtype=np.float32)[:1]
    waiting = np.zeros((1, 4), np.float32)
    texts = [
        Text(n, f"note/{n}", "", (f"Alpha{n} beta{n} gamma{n} delta{n}.",), vector)
        for n, vector in enumerate([waiting, one, one])
    ]
    assert len(read_back(Extractive().summarise(texts, 1000))) == 3


def test_a_central_engram_speaks_first() -> None:
    texts = [
        Text(n, f"note/{n}", "", (f"Alpha{n} beta{n} gamma{n} delta{n}.",), weight=weight)
        for n, weight in enumerate([0.2, 0.5, 2.3])
    ]
    room = counter("o200k")("note/2\n- Alpha2 beta2 gamma2 delta2.")
    assert Extractive().summarise(texts, room).startswith("note/2\n")


def test_code_that_goes_on_in_the_next_passage_is_still_code() -> None:
    text = Text(1, "note/a", "A", ("Prose of the pump here.\n```\ncode = 1\n", "Not prose. No.\n"))
    assert Extractive().summarise([text], 1000) == "note/a\n- Prose of the pump here."


def test_digests_of_groups_are_told_by_their_sentences() -> None:
    first = Extractive().summarise(PUMPS[:2], 1000)
    groups = [Text(-1, "", "", (first,)), Text(-1, "community-x", "X", ("A host wrote of pumps.",))]
    assert Extractive().summarise(groups, 1000) == f"{first}\ncommunity-x\n- A host wrote of pumps."


def test_groups_are_compared_by_their_vectors_and_weights() -> None:
    near, far = np.eye(8, dtype=np.float32)[:2]

    def best(*groups: tuple[np.ndarray, float]) -> str:
        texts = [
            Text(
                -1, "kind-x", "X", (f"note/{n}\n- Alpha{n} beta{n} gamma{n}.",), v[None, :], weight
            )
            for n, (v, weight) in enumerate(groups)
        ]
        room = counter("o200k")(texts[0].passages[0])
        return read_back(Extractive().summarise(texts, room))[0][0]

    assert best((far, 1), (near, 1), (near, 1), (near, 1)) == "note/1"
    assert best((near, 1), (near, 1), (near, 5)) == "note/2"


def test_engrams_without_a_text_are_told_by_their_titles() -> None:
    texts = [Text(1, "note/a", "Alpha", ()), Text(2, "note/b", "Beta", ("# Beta\n",))]
    assert Extractive().summarise(texts, 1000) == "note/a\n- Alpha\nnote/b\n- Beta"


def test_where_no_sentence_fits_it_fails_and_says_so() -> None:
    with pytest.raises(SummariserFailed, match="not one of 4 sentences fits within 5 tokens"):
        Extractive().summarise(PUMPS, 5)


def test_a_long_sentence_gives_way_to_shorter_ones() -> None:
    long = f"The pump {'and the seal of the pump ' * 40}leaks."
    texts = [Text(1, "note/a", "A", (long,)), Text(2, "note/b", "B", ("The pump has a new seal.",))]
    assert Extractive().summarise(texts, 1000) == "note/b\n- The pump has a new seal."
    assert Extractive().summarise(texts[:1], 1000) == f"note/a\n- {' '.join(long.split())}"


_WORDS = """pump seal leak Paris 泵过热 密封 ปั๊ม ร้อน гайка x **b** [l](u) `c` 3 - # > |"""
_WORD = st.sampled_from(_WORDS.split())
_PROSE = st.lists(
    st.tuples(
        st.lists(_WORD, max_size=12), st.sampled_from([". ", "。", "!\n", "\n\n", "\n- ", " "])
    )
).map(lambda some: "".join(" ".join(words) + end for words, end in some))


@settings(max_examples=60)
@given(st.lists(st.lists(_PROSE, max_size=3), min_size=1, max_size=6), st.integers(1, 120))
def test_nothing_is_invented_and_the_limit_is_kept(bodies: list[list[str]], most: int) -> None:
    texts = [Text(n, f"note/{n}", f"title {n}", tuple(body)) for n, body in enumerate(bodies)]
    try:
        digest = Extractive(bytes4).summarise(texts, most)
    except SummariserFailed:
        return
    assert bytes4(digest) <= most
    assert digest == Extractive(bytes4).summarise(texts, most)
    lines = read_back(digest)
    assert lines
    order = [int(name.removeprefix("note/")) for name, _ in lines]
    assert order == sorted(order)
    for at, (_, sentence) in zip(order, lines, strict=True):
        assert any(bare(sentence) in bare(source) for source in (*bodies[at], f"title {at}"))
