"""The words of the corpora that judge recall: every meaning in several wordings of its own.

Whoever writes an engram and whoever asks for it choose their wordings apart, so that a question
often shares no word of weight with what answers it.
"""

from __future__ import annotations

from dataclasses import dataclass

Wordings = tuple[str, ...]

MACHINES: tuple[Wordings, ...] = (
    ("forklift", "lift truck", "pallet stacker"),
    ("cold store", "freezer hall", "refrigerated chamber"),
    ("conveyor", "transport belt", "roller line"),
    ("boiler", "hot water heater", "steam kettle"),
    ("backup generator", "emergency power unit", "diesel set"),
    ("feed pump", "supply pump", "inlet pump"),
    ("gate valve", "shut-off valve", "stop valve"),
    ("sprinkler line", "fire extinguishing pipes", "deluge system"),
    ("label printer", "tag maker", "barcode machine"),
    ("weighbridge", "truck scale", "vehicle balance"),
    ("dock door", "loading gate", "ramp shutter"),
    ("air compressor", "pneumatic station", "pressurised air plant"),
    ("shrink wrapper", "foil machine", "film packer"),
    ("water softener", "lime filter", "descaling unit"),
    ("crane", "hoist", "lifting gear"),
    ("exhaust fan", "ventilation blower", "air extractor"),
)
SYSTEMS: tuple[Wordings, ...] = (
    ("badge reader", "card terminal", "entry scanner"),
    ("web shop", "online store", "order site"),
    ("customer database", "client register", "account directory"),
    ("mail server", "message relay", "post system"),
    ("nightly backup", "data copy job", "archive run"),
    ("invoice scanner", "bill reader", "receipt capture"),
    ("route planner", "tour optimiser", "delivery scheduler"),
    ("payroll run", "salary batch", "wage calculation"),
    ("ticket desk", "help line", "support queue"),
    ("booking calendar", "reservation planner", "appointment diary"),
)
SITES: tuple[Wordings, ...] = (
    ("Harbour Hall", "the hall at the harbour"),
    ("North Yard", "the northern yard"),
    ("Mill Street", "the old mill"),
    ("Station House", "the house by the station"),
    ("Lakeside", "the plant by the lake"),
    ("Hillcrest", "the site on the hill"),
    ("Kingsway", "the branch in Kingsway"),
    ("Airport Unit", "the unit near the airport"),
    ("East Park", "the eastern park"),
    ("Ferry Point", "the ferry landing"),
)


@dataclass(frozen=True)
class Trouble:
    """A fault with its usual causes, each with what helps against it."""

    fault: Wordings  # in the past tense, behind a subject
    causes: tuple[tuple[Wordings, Wordings], ...]  # (cause, remedy in the past tense)


_BEARING = (
    ("a worn bearing", "a bearing at the end of its life", "bearings that had run dry"),
    ("put in a new bearing", "exchanged the bearings", "greased and swapped the ball race"),
)
_FILTER = (
    ("dirt in the filter", "a clogged strainer", "dust that covered the intake"),
    ("cleaned the filter", "rinsed the strainer", "removed the dust and washed the mesh"),
)
_CABLE = (
    ("a loose cable", "a wire that had come off", "a bad electrical contact"),
    ("tightened the cable", "fastened the wire again", "soldered the contact anew"),
)
_OIL = (
    ("the wrong oil", "lubricant of another grade", "old, thick grease"),
    ("changed the oil", "drained the lubricant and refilled it", "used fresh grease"),
)
_SEAL = (
    ("a brittle seal", "a gasket that had hardened", "a cracked rubber ring"),
    ("fitted another seal", "replaced the gasket", "pressed in a fresh rubber ring"),
)
_FROST = (
    ("frost", "ice in the line", "water that had frozen overnight"),
    ("thawed it with warm air", "melted the ice", "defrosted and insulated the line"),
)
_LOAD = (
    ("too much weight on it", "an excessive load", "more goods than it can bear"),
    ("took off half the goods", "reduced the load", "spread the weight evenly"),
)
_DISK = (
    ("a full disk", "storage without any space left", "a volume that had filled up"),
    ("deleted old files", "made room on the volume", "added more storage"),
)
_CERTIFICATE = (
    ("an expired certificate", "a key past its date", "credentials that ran out"),
    ("renewed the certificate", "issued another key", "extended the credentials"),
)
_UPDATE = (
    ("a faulty update", "a release with a bug", "the version installed the day before"),
    ("went back to the release before", "rolled the update back", "installed the older version"),
)
_CROWD = (
    ("too many users at once", "a rush of visitors", "more requests than it can serve"),
    ("added a second machine", "limited the number of visitors", "gave it twice the memory"),
)
_CLOCK = (
    ("a clock that was an hour off", "the change to summer time", "a wrong time zone"),
    ("set the clock", "corrected the time zone", "switched on time synchronisation"),
)
_IMPORT = (
    ("a broken import file", "a table with shifted columns", "bad data from a supplier"),
    ("loaded a corrected file", "repaired the columns by hand", "asked for the data again"),
)

MACHINE_TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        ("overheated", "ran far too hot", "reached a dangerous temperature", "got burning warm"),
        (_BEARING, _FILTER, _OIL),
    ),
    Trouble(
        ("leaked", "lost fluid", "dripped onto the floor", "was no longer tight"), (_SEAL, _FROST)
    ),
    Trouble(
        ("shook badly", "vibrated", "trembled while running", "rattled to and fro"),
        (_BEARING, _LOAD),
    ),
    Trouble(
        ("got stuck", "jammed", "would not move", "was blocked halfway"), (_FROST, _LOAD, _FILTER)
    ),
    Trouble(
        ("screeched", "made a loud noise", "was unbearably loud", "squealed"), (_OIL, _BEARING)
    ),
    Trouble(
        ("did not start", "refused to come on", "stayed dead when switched on", "gave no sign"),
        (_CABLE, _FROST),
    ),
    Trouble(
        ("smelled of burning", "gave off a scorched odour", "let out smoke"), (_CABLE, _BEARING)
    ),
)
SYSTEM_TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        ("was very slow", "took ages", "answered with long delays", "became sluggish"),
        (_CROWD, _DISK),
    ),
    Trouble(
        ("locked people out", "rejected every password", "let nobody sign in"),
        (_CERTIFICATE, _CLOCK),
    ),
    Trouble(
        ("showed wrong totals", "added up incorrectly", "gave sums that did not match"),
        (_IMPORT, _UPDATE),
    ),
    Trouble(("lost entries", "dropped records", "had rows missing"), (_DISK, _IMPORT)),
    Trouble(
        ("sent everything twice", "produced duplicates", "repeated each item"), (_CLOCK, _UPDATE)
    ),
    Trouble(("crashed", "fell over", "went down without warning"), (_UPDATE, _DISK, _CROWD)),
)
RULES: tuple[tuple[Wordings, tuple[str, ...]], ...] = (  # what is decided, and its values
    (
        ("highest load", "maximum weight", "most it may carry"),
        ("400 kg", "650 kg", "900 kg", "1,200 kg", "1,500 kg"),
    ),
    (
        ("service interval", "time between two inspections", "rhythm of maintenance"),
        ("three weeks", "six weeks", "ten weeks", "half a year", "a year"),
    ),
    (
        ("spending limit", "sum that needs no approval", "budget cap"),
        ("200 euros", "500 euros", "900 euros", "2,000 euros", "5,000 euros"),
    ),
    (
        ("hours of use", "time of day when it may run", "permitted operating times"),
        ("six to two", "seven to four", "eight to six", "nine to noon", "ten to midnight"),
    ),
    (
        ("supplier", "firm that it is bought from", "vendor"),
        ("Brandt", "Okafor & Sons", "Lindqvist", "Moreau", "Tanaka Works"),
    ),
)
TASKS: tuple[tuple[Wordings, tuple[str, ...]], ...] = (
    (
        ("cleaning", "washing down", "getting the dirt off"),
        ("switch it off and wait", "wipe it with a damp cloth", "let it dry for an hour"),
    ),
    (
        ("shutting down for the holidays", "switching off over the break", "winter closing"),
        ("tell the shift leader", "turn the main switch", "hang the red sign on it"),
    ),
    (
        ("introducing a new colleague", "showing a beginner", "first-day training"),
        ("show the emergency stop", "let them watch a full cycle", "sign the sheet together"),
    ),
    (
        ("taking stock", "counting what is there", "yearly inventory"),
        ("print the list", "count twice", "report what differs"),
    ),
)
PEOPLE = (
    "Mira Voss", "Jonas Keller", "Ada Brandao", "Tomas Nilsen", "Leila Haddad", "Hugo Marchetti",
    "Petra Novak", "Samir Rahimi", "Ingrid Solberg", "Paulo Teixeira", "Nadia Petrov", "Oskar Lund",
    "Yuki Mori", "Bela Szabo", "Carla Weiss", "Dario Conti", "Edda Falk", "Farid Aziz",
    "Greta Holm", "Henk Visser",
)  # fmt: skip
TEAMS = ("maintenance", "logistics", "accounting", "computing", "purchasing", "customer care")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
