"""A year of Robin's: one made-up person, told in days that follow from each other. Nobody is real.

Days are counted back from today, so that the list of chats is alive whenever it is looked at. What repeats is made
by a random number generator with a fixed seed: the same year every time.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

SEED = 11
NAME = "Robin"
# No secret: only the machine that the demo runs on reaches it.
USERNAME, PASSWORD = "robin", "a year on the heron"


@dataclass(frozen=True, slots=True)
class Talk:
    """A chat of a day: its title, and what was said by turns from Robin on."""

    title: str
    said: tuple[str, ...]
    # The program it was held with, if not OneClaw's own page.
    via: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that lasts: an entry of MEMORY.md, and the words it takes the place of."""

    section: str
    text: str
    replaces: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    ago: int
    log: tuple[str, ...]
    talk: Talk | None = None
    facts: tuple[Fact, ...] = ()


STORY = (
    Day(
        362,
        ("Introduced themselves: a joiner of 38 in Leeds, with a cat named Biscuit",),
        Talk(
            "Getting to know each other",
            (
                "Hi! I'm Robin, a joiner in Leeds. I live with a cat called Biscuit.",
                "Good to meet you, Robin. What would you like help with?",
                "Mostly planning: I bought an old narrowboat, the Heron, and want to make her a home.",
                "A fine project. Shall we begin with a survey of the hull, and a list of what must happen on dry land?",
            ),
        ),
        (
            Fact("User Profile", "Robin, a joiner, lives in Leeds with a cat called Biscuit"),
            Fact("Projects", "Restores a narrowboat of 1974, the Heron, to live aboard"),
        ),
    ),
    Day(
        351,
        ("The survey of the Heron found two thin plates at the stern; Tomas will weld them in spring",),
        Talk(
            "What the survey found",
            (
                "The surveyor says two plates at the stern are down to 3 mm. How worried should I be?",
                "Not very, if they are plated over before the next blacking. Under 4 mm insurers often ask for it.",
                "Tomas can weld them for 900 pounds in spring.",
                "That is a fair price. Ask him for photographs before and after: the insurer will want them.",
            ),
        ),
        (Fact("Notes", "Tomas, an old friend, is a welder and works on the Heron's hull"),),
    ),
    Day(
        338,
        ("Prefers lists with quantities and prices, and short answers",),
        None,
        (Fact("Preferences", "Wants lists with quantities and prices, and no introductions"),),
    ),
    Day(
        320,
        ("Began to learn Portuguese: half an hour before work, with a grammar and a radio play",),
        Talk(
            "A plan for Portuguese",
            (
                "I'd like to learn Portuguese until April. Half an hour a day. What should I do?",
                "Ten minutes of new words, ten of grammar, ten of listening. On Sundays only listen.",
            ),
        ),
        (Fact("Interests", "Learns Portuguese, half an hour before work"),),
    ),
    Day(
        301,
        ("Mina, Robin's sister, has moved to Lisbon and starts at a bakery there",),
        None,
        (Fact("User Profile", "Has a sister, Mina, who lives in Lisbon"),),
    ),
    Day(
        280,
        ("The doctor advised against coffee: Robin drinks tea now, and sleeps better",),
        Talk(
            "Tea instead of coffee",
            (
                "My doctor wants me off coffee. What is closest in the morning?",
                "A strong Assam, brewed for four minutes. It has about half the caffeine.",
                "Fine. Tea it is, from today.",
                "Then a tin of 250 g lasts about three months at two cups a day.",
            ),
        ),
        (Fact("Preferences", "Drinks tea instead of coffee, on a doctor's advice"),),
    ),
    Day(
        262,
        ("Decided on a wood stove of 4 kW for the Heron, and against diesel heating",),
        Talk(
            "Heating for a narrowboat",
            (
                "Stove or diesel heating for 17 metres of narrowboat?",
                "A 4 kW stove warms the front two thirds; the bedroom stays cool. Diesel is even, louder, and dearer.",
                "I like it cool at night. The stove, then.",
                "Leave 250 mm to the side walls and line them with calcium silicate board: two sheets will do.",
            ),
        ),
    ),
    Day(
        241,
        ("Booked the train to Lisbon for the spring: out on a Friday, ten days, staying with Mina",),
        Talk(
            "By train to Lisbon",
            (
                "I don't want to fly to Lisbon. How do I get there by train?",
                "London to Paris, Paris to Barcelona, a night there, Madrid, and the morning train to Lisbon: two days.",
                "Booked, for 312 pounds there and back.",
                "Good. Bring a lock for the luggage rack in Spain, and water for the stretch after Madrid.",
            ),
        ),
        (Fact("Preferences", "Travels by train rather than by plane"),),
    ),
    Day(
        214,
        (
            "Lisbon: ten days with Mina. Spoke Portuguese at the market; learnt to shape pão de centeio at her bakery",
        ),
        Talk(
            "Back from Lisbon",
            (
                "Back from Lisbon! Mina showed me how they shape rye bread. How do I do that at home without their oven?",
                "Preheat a cast-iron pot for 45 minutes at 250 °C, bake covered for 30 and open for 15.",
            ),
        ),
        (Fact("Interests", "Bakes rye bread on Sundays, as Mina's bakery does"),),
    ),
    Day(
        198,
        ("Tomas has welded the stern plates of the Heron: 880 pounds, photographs sent to the insurer",),
    ),
    Day(
        176,
        ("Accepted a job at a boatyard in Bristol, from June; the flat in Leeds is given up",),
        Talk(
            "The offer from Bristol",
            (
                "A boatyard in Bristol offers me a job: less pay, but I'd work on boats. Help me decide.",
                "What you would lose: 210 pounds a month. What you'd gain: a mooring, their dry dock, and work you like.",
                "Put like that, I take it. I move in June, Biscuit and all.",
                "Then give notice for the flat by the end of the month, and ask the yard about the mooring in writing.",
            ),
        ),
        (
            Fact(
                "User Profile",
                "Robin, a joiner at a boatyard, lives in Bristol with a cat called Biscuit",
                replaces="Robin, a joiner, lives in Leeds with a cat called Biscuit",
            ),
        ),
    ),
    Day(
        150,
        ("Moved to Bristol; the Heron lies at the yard's mooring, 140 pounds a month",),
        None,
        (Fact("Projects", "The Heron lies at the boatyard's mooring in Bristol, for 140 pounds a month"),),
    ),
    Day(
        127,
        ("Fitted the stove on the Heron with Tomas, who stayed for the weekend",),
        Talk(
            "Fitting the stove",
            (
                "The flue comes out 40 mm off centre. Move the collar or bend the flue?",
                "Move the collar: two bends cost you draught. Cut the new hole first, then plate over the old one.",
            ),
        ),
    ),
    Day(
        96,
        (
            "Two weeks in Orkney: by train and ferry, with a tent; seals at Sandwick, rain on nine days of fourteen",
        ),
        Talk(
            "Orkney with a tent",
            (
                "What do I need for two weeks in Orkney in a tent, in August?",
                "Wind matters more than cold: 12 long pegs, a low tent, a bag to 5 °C, and something to read.",
                "Ana from the yard comes along. She has the stove, I have the tent.",
                "Then share one gas cartridge of 450 g: it is enough for two for about ten days.",
            ),
        ),
        (Fact("Notes", "Ana, a painter at the yard, is a good friend; they were in Orkney together"),),
    ),
    Day(
        71,
        ("Hazelnuts are not for Robin: a rash after Ana's cake, confirmed by a test",),
        Talk(
            "A rash after cake",
            (
                "I got a rash after a hazelnut cake, and the test says I'm allergic. What do I watch out for?",
                "Nougat, many chocolate spreads, pesto of unnamed nuts, and mixed bakery goods. Tell Mina, too.",
            ),
        ),
        (Fact("User Profile", "Allergic to hazelnuts, confirmed by a test"),),
    ),
    Day(
        45,
        ("Lives aboard since today: the bedroom and the galley of the Heron are done, the bathroom is not",),
        None,
        (
            Fact(
                "Projects",
                "Lives aboard the Heron since this autumn; the bathroom is still to be built",
                replaces="Restores a narrowboat of 1974, the Heron, to live aboard",
            ),
        ),
    ),
    Day(
        23,
        ("Compared three composting toilets for the Heron; chose the one with a separate tank, 520 pounds",),
        Talk(
            "A toilet for the boat",
            (
                "Pump-out or composting toilet for the Heron?",
                "Composting: no tank under the floor, and no queue at the pump-out. It wants a vent and some care.",
                "The one with a separate tank, then. It's 520 pounds.",
                "Order the vent hose, 100 mm, with it: 2.5 m, 18 pounds.",
            ),
        ),
    ),
    Day(
        9,
        ("Mina visits in the week before Christmas and brings her friend Inês; they sleep on the Heron",),
        Talk(
            "Mina comes for Christmas",
            (
                "Mina and her friend Inês come for the week before Christmas. Where do I put two guests on a boat?",
                "The dinette makes a double bed: two boards of 18 mm ply, 600 by 1,250, and the seat cushions.",
                "Perfect, I have the ply.",
                "Then it is an evening's work. Round the edges, and screw two battens under each board.",
            ),
        ),
        (Fact("Notes", "Mina and her friend Inês visit in the week before Christmas"),),
    ),
    Day(
        4,
        ("The bathroom's wall is to be panelled in larch: 6 m², from the yard's offcuts",),
        Talk(
            "Larch for the bathroom",
            (
                "Is larch a good choice for a bathroom wall on a boat?",
                "Yes, if it is oiled twice and has air behind it: 10 mm battens. For 6 m² you need about 66 m of 95 mm boards.",
            ),
            via="Open WebUI",
        ),
        (
            Fact(
                "Projects",
                "The bathroom of the Heron gets walls of oiled larch",
                by="Claude Code (Workshop PC)",
            ),
        ),
    ),
    Day(
        1,
        ("Planned the week: oil the larch, fetch the vent hose, Portuguese on Thursday with Inês by phone",),
        Talk(
            "A plan for the week",
            (
                "What is left before Mina comes?",
                "The larch wall, the toilet with its vent, and the boards for the guest bed. Begin with the oil: it dries for a day.",
            ),
        ),
    ),
)

BREAD = ("80 per cent rye", "rye with caraway", "rye and spelt", "rye with sunflower seeds", "a darker rye")
BOAT = (
    "Sanded and oiled {0} m of handrail on the Heron",
    "Insulated {0} m² of the Heron's roof with cork",
    "Laid {0} m² of oak floor in the Heron",
    "Replaced {0} portlights of the Heron; the seals were perished",
    "Ran {0} m of cable on the Heron for lamps",
)
WORK = (
    "At the yard: a new rudder post for a hire boat, {0} hours",
    "At the yard: planked {0} m of a rowing boat in larch",
    "Made {0} drawers of ash for a customer",
    "Quoted a kitchen of {0} cupboards; the customer thinks it over",
)
READING = (
    "a novel about a lighthouse",
    "the grammar, chapter {0}",
    "a history of canals",
    "a radio play in Portuguese",
)
ASKED = (
    (
        "How much oil do I need for {0} m of handrail?",
        "About {1} ml for two coats, if you wipe off what stays.",
    ),
    (
        "Rye bread with {0} g of flour: how much water?",
        "At 82 per cent, {1} g. Hold back a tenth and look at it.",
    ),
    (
        "How do I say I'd like {0} of these in Portuguese?",
        "“Queria {0}, se faz favor.” Point at them, and smile.",
    ),
    ("Screws for {0} boards, three battens each?", "Two a batten: {1}, so take a box of {2}."),
)


def days() -> list[Day]:
    """The whole year, oldest first: the story, and what is done every week."""
    chance = random.Random(SEED)  # noqa: S311  (the same year every time, nothing secret)
    told = {day.ago for day in STORY}
    return sorted([*STORY, *_ordinary(chance, told)], key=lambda day: -day.ago)


def _ordinary(chance: random.Random, told: set[int]) -> Iterator[Day]:
    for ago in range(360, 1, -3):
        if ago in told or chance.random() < 0.25:
            continue
        number = chance.randint(2, 9)
        log = [chance.choice(BOAT).format(number)]
        if chance.random() < 0.6:
            log.append(chance.choice(WORK).format(chance.randint(2, 9)))
        if chance.random() < 0.4:
            log.append(
                f"Baked {chance.choice(BREAD)}; {chance.choice(('came out well', 'a little dense', 'the best so far'))}"
            )
        if chance.random() < 0.3:
            log.append(f"Read {chance.choice(READING).format(number)}")
        yield Day(ago, tuple(log), _small_talk(chance) if chance.random() < 0.35 else None)


def _small_talk(chance: random.Random) -> Talk:
    question, answer = chance.choice(ASKED)
    number = chance.randint(2, 12) * (50 if "flour" in question else 1)
    other = round(number * (0.82 if "flour" in question else 6 if "Screws" in question else 35))
    asked = question.format(number)
    return Talk(asked.rstrip("?")[:48], (asked, answer.format(number, other, -(-other // 50) * 50)))
