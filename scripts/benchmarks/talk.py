"""What people say in the conversations that judge recall: facts, matters and advice, reworded.

A statement and the question for it are worded apart, as in `wording`.
"""

from __future__ import annotations

from dataclasses import dataclass

Wordings = tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """Something about a person that can change: `said` and `asked` name {who}, `said` a {value}."""

    said: Wordings
    asked: Wordings
    values: Wordings


@dataclass(frozen=True)
class Advice:
    """A problem that a user brings, what an assistant answers, and how one asks for it later."""

    problem: Wordings
    answer: Wordings
    asked: Wordings


FACTS: tuple[Fact, ...] = (
    Fact(
        ("{who} has moved to {value}", "{who} rents a flat in {value} now",
         "the new address of {who} is in {value}", "home for {who} is {value} these days"),
        ("where does {who} live", "which city is {who} based in",
         "what town do I send a parcel for {who} to"),
        ("Lisbon", "Ghent", "Turin", "Bergen", "Graz", "Porto", "Malmö", "Trieste"),
    ),
    Fact(
        ("{who} started as a {value}", "{who} was hired to be a {value}",
         "{who} earns a living as a {value} now", "{who} has signed on somewhere as a {value}"),
        ("what is the profession of {who}", "what does {who} do for work",
         "which occupation does {who} have"),
        ("baker", "surveyor", "nurse", "tram driver", "translator", "gardener", "roofer"),
    ),
    Fact(
        ("{who} cannot stand {value} any more", "{who} gets a rash from {value}",
         "never put {value} on the plate of {who}", "{value} makes {who} ill"),
        ("which food must {who} avoid", "what is {who} allergic to",
         "what should I not cook for {who}"),
        ("walnuts", "shellfish", "celery", "strawberries", "goat cheese", "mustard", "lentils"),
    ),
    Fact(
        ("{who} takes lessons in {value}", "{who} has picked up {value}",
         "{who} spends the evenings with {value}", "since the holidays {who} is all about {value}"),
        ("what are the hobbies of {who}", "how does {who} pass free time",
         "which pastime does {who} have"),
        ("the cello", "rock climbing", "calligraphy", "beekeeping", "fencing", "chess", "pottery"),
    ),
    Fact(
        ("{who} gets about in a {value}", "{who} bought a {value}",
         "{who} parks a {value} in front of the house", "{who} was seen at the wheel of a {value}"),
        ("what vehicle does {who} drive", "which car does {who} own", "what is {who} driving"),
        ("red van", "grey estate", "old convertible", "small electric", "blue pickup", "camper"),
    ),
    Fact(
        ("{who} has a {value} now", "a {value} sleeps on the sofa of {who}",
         "{who} walks a {value} every morning", "{who} took in a {value} from the shelter"),
        ("which pet does {who} have", "what animal lives with {who}",
         "what creature keeps {who} company"),
        ("greyhound", "three-legged cat", "poodle", "pair of ferrets", "terrier", "rescue spaniel"),
    ),
    Fact(
        ("{who} is best reached {value}", "call {who} {value}, not at other times",
         "{who} picks up the phone only {value}"),
        ("when can I ring {who}", "what is a good hour to talk to {who}",
         "at which times does {who} answer calls"),
        ("before breakfast", "over lunch", "late in the evening", "on the train home",
         "right after the school run"),
    ),
)  # fmt: skip
PROJECTS: tuple[tuple[str, Wordings], ...] = (  # a name, and what it is about
    ("Atlas", ("the printed city map", "the town plan on paper")),
    ("Beacon", ("the lights along the pier", "illuminating the jetty")),
    ("Cedar", ("the wooden playground", "the climbing frame for children")),
    ("Dune", ("the exhibition on deserts", "the show about sand and drought")),
    ("Ember", ("the pizza oven in the yard", "baking outdoors")),
    ("Fable", ("the picture book for small children", "the bedtime stories")),
    ("Grove", ("planting fruit trees", "the new orchard")),
    ("Helix", ("the stairs in the tower", "the winding steps")),
    ("Islet", ("the ferry timetable", "when the boats go")),
    ("Juniper", ("the gin tasting", "the evening with spirits")),
)
MATTERS: tuple[tuple[Wordings, Wordings], ...] = (  # what is decided, and the choices
    (("date of the opening", "day on which it starts", "launch"),
     ("the first of May", "midsummer", "the last Friday of August", "early October")),
    (("colour", "paint", "shade for the cover"),
     ("dark green", "plain white", "mustard yellow", "terracotta", "navy")),
    (("place where it happens", "venue", "location"),
     ("the town hall", "the old library", "the boathouse", "the market square")),
    (("price", "what visitors pay", "admission fee"),
     ("nothing at all", "five euros", "twelve euros", "whatever people like to give")),
    (("firm that builds it", "contractor", "company that we hire"),
     ("Halloran", "the cousins from Zwolle", "Petrescu Brothers", "Ito Design")),
    (("slogan", "line on the poster", "motto"),
     ("'come as you are'", "'bring a friend'", "'slowly, but surely'", "'made by hand'")),
)  # fmt: skip
SETTLED: Wordings = (
    "then it is settled: {value} as the {matter} of {project}",
    "good, we go with {value} for the {matter} of {project}",
    "everybody was for {value}, so that is the {matter} of {project} now",
    "let us take {value}; the {matter} of {project} is off the list",
)
ADVICE: tuple[Advice, ...] = (
    Advice(
        ("my back hurts after a day at the desk", "sitting so long gives me a stiff spine"),
        ("stand up every half hour and raise the screen to the height of your eyes",
         "a higher monitor and a short walk twice an hour would take the strain off"),
        ("what did you recommend against the pain from sitting", "tips for my sore back"),
    ),
    Advice(
        ("the tomatoes on my balcony turn yellow", "leaves of my vegetables outside get pale"),
        ("water them in the morning only, and give them a spoon of magnesium",
         "that is too much water; a little Epsom salt brings the green back"),
        ("how was I to save the plants on the balcony", "your hint for the yellow tomatoes"),
    ),
    Advice(
        ("I lie awake until two every night", "falling asleep takes me hours"),
        ("leave the phone in the kitchen and keep to one hour for getting up",
         "no screen after ten, and rise at the same time even on Sundays"),
        ("what should I do about my insomnia", "advice on sleeping better"),
    ),
    Advice(
        ("my sourdough stays flat", "the bread does not rise at all"),
        ("feed the starter twice the day before and let the dough rest somewhere warm",
         "it is too cold; proof it in the oven with only the lamp on"),
        ("how do I get a taller loaf", "what was wrong with my baking"),
    ),
    Advice(
        ("the laptop gets loud as soon as I open a few tabs", "its fan howls while I browse"),
        ("blow the dust out and switch off the add-on that plays videos",
         "clean the vents first; then see which extension uses the processor"),
        ("what can be done about the noisy computer", "your idea for my laptop's fan"),
    ),
    Advice(
        ("our puppy chews the chairs", "the young dog destroys the furniture"),
        ("give it a frozen carrot and praise it for lying still",
         "something cold to gnaw on, and more walks before you leave"),
        ("how do we stop the dog from biting things", "training tip for our puppy"),
    ),
    Advice(
        ("I forget the names of people that I meet", "names never stick with me"),
        ("say the name aloud at once and tie it to a picture",
         "repeat it in your first sentence and imagine something absurd beside the face"),
        ("trick to remember who is who", "how was I going to keep names in mind"),
    ),
    Advice(
        ("I want to save for a long journey", "how can I put money aside for travelling"),
        ("move a fixed sum to a second account on payday",
         "a standing order on the day your wage arrives, and only cash for fun"),
        ("what was your plan for my savings", "how do I pay for the big trip"),
    ),
    Advice(
        ("my speech at the wedding is next month and I am terrified", "I have to toast the couple"),
        ("tell one story, not five, and practise it standing",
         "a single anecdote, three minutes at most, rehearsed before a mirror"),
        ("what did you say about talking in front of guests", "help against stage fright"),
    ),
    Advice(
        ("the bathroom wall grows mould", "there are black spots behind the shower"),
        ("air it for ten minutes after each shower and wipe the wall with alcohol",
         "spirit kills it; then keep the window wide open, never tilted"),
        ("how do I get rid of the fungus", "remedy for the damp bathroom"),
    ),
)  # fmt: skip
CHATTER: Wordings = (
    "the rain has not stopped since {day}, and the gutters overflow",
    "did {who} say anything about the {matter} of {project}? I have heard nothing",
    "I had lunch with {who} and we laughed a lot",
    "the {matter} of {project} can wait until we know more",
    "my train was late again, forty minutes this time",
    "remind me to write to {who} on {day}",
    "somebody left an umbrella at the meeting about {project}",
    "what a week; I slept ten hours and could sleep ten more",
    "{who} sends greetings from the coast",
    "there is cake in the kitchen, {who} turned forty",
    "I am not sure that {project} needs me on {day}",
    "the printer is out of paper, as always",
)
NODS: Wordings = (
    "noted", "I will keep that in mind", "thank you, that is good to know", "understood",
    "all right, I have written it down", "that sounds fine", "let me know if it changes",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LENT: Wordings = (
    "drill",
    "tent",
    "sewing machine",
    "ladder",
    "projector",
    "rowing boat",
    "fondue set",
)
