"""What Holdfast Harbour has to tell: its lights, notices, guide and fees. `pages` makes a site of it."""

from typing import NamedTuple


class Light(NamedTuple):
    """A lighthouse: `flashes` within each `period_s` seconds, in `colour`."""

    slug: str
    name: str
    built: int
    height_m: int
    flashes: int
    period_s: int
    colour: str
    range_nm: int
    keeper: str
    story: str

    @property
    def character(self) -> str:
        """The light as a chart writes it: Fl(2) W 10s."""
        group = f"({self.flashes})" if self.flashes > 1 else ""
        return f"Fl{group} {self.colour[0].upper()} {self.period_s}s"


class Notice(NamedTuple):
    """A notice to mariners, numbered by the place it has in NOTICES."""

    month: str
    title: str
    text: str


LIGHTS = (
    Light("north-pier", "North Pier", 1871, 12, 1, 4, "green", 8, "Ida Quill",
          "Leave it to starboard coming in. The fishermen say good evening to it; few admit to doing so."),
    Light("south-pier", "South Pier", 1871, 12, 1, 4, "red", 8, "Ida Quill",
          "The twin of North Pier, repainted each spring by the school's oldest class, who sign the inside."),
    Light("gannet-rock", "Gannet Rock", 1834, 38, 2, 10, "white", 21, "Tomas Reyl",
          "The first light of the coast. It was built in three summers, on a rock that dries for four hours a day."),
    Light("the-widow", "The Widow", 1849, 31, 3, 15, "white", 19, "Maren Oake",
          "Named after Hanna Brask, who lit a lamp in her window for eleven years until they built her a tower."),
    Light("cold-knoll", "Cold Knoll", 1902, 24, 1, 6, "white", 15, "Piet Sarn",
          "On land, a mile from the sea, and kept alight because one spring tide in twenty reaches its door."),
    Light("eel-ness", "Eel Ness", 1888, 19, 2, 8, "red", 12, "Una Fell",
          "Marks the bank that moves. The light has been moved after it four times, on rollers, by oxen and by hand."),
    Light("saint-brannoc", "Saint Brannoc", 1795, 27, 4, 20, "white", 18, "Jory Penhale",
          "A chapel tower first. The bell still hangs beneath the lantern and is rung in fog, by rope."),
    Light("far-skerry", "Far Skerry", 1861, 44, 1, 30, "white", 24, "Solveig Aam",
          "The tallest and the loneliest; relief comes by boat every fourth week, weather permitting, which it seldom does."),
    Light("customs-steps", "Customs Steps", 1923, 6, 1, 2, "green", 3, "the harbour office",
          "The smallest light we keep. It marks the steps, and since 1974 also the bench."),
    Light("lantern-isle", "Lantern Isle", 1812, 33, 2, 5, "white", 20, "Ebba Lind",
          "Its first lens came by sledge across the frozen sound and is now in the museum, with the sledge."),
    Light("drift-head", "Drift Head", 1956, 22, 3, 12, "red", 14, "Osk Varga",
          "Built when the fairway was dredged through the head; the old charts call this place an island."),
    Light("morning-spit", "Morning Spit", 1979, 15, 1, 3, "white", 10, "Nell Carrow",
          "Solar since 1994. It goes out at dawn, a minute earlier each day till midsummer, and nobody turns it off."),
)  # fmt: skip

NOTICES = (
    Notice("January", "Ice in the inner basin", "Keep to the swept channel; wooden hulls wait for the tug."),
    Notice("January", "Far Skerry: fog signal changed", "Two blasts of three seconds each minute, instead of one."),
    Notice("February", "Wreck buoy at Eel Ness", "A yellow buoy marks a barge, upright, with 2.1 m over its wheelhouse."),
    Notice("March", "Spring tides", "The fish quay floods at 4.9 m. Cars left on it become the harbour's concern, and then the sea's."),
    Notice("April", "Painting of South Pier", "The light is dark on the 14th from 10:00 to 15:00. Mind the children on the ladder."),
    Notice("April", "Dredging in the fairway", "Pass the dredger on the side that shows two green lights."),
    Notice("May", "Regatta", "The outer roads are closed to anything faster than a rowing gig."),
    Notice("June", "Seals on Customs Steps", "Land at the slip instead. The seals have been told."),
    Notice("July", "Night exercise of the lifeboat", "Red flares on the 9th are practice. On any other night they aren't."),
    Notice("August", "Eel Ness moved", "The light now stands 140 m further east; correct your charts."),
    Notice("September", "Pilot boat out of service", "Pilots come aboard from the tug, on its port side."),
    Notice("October", "Clock of the harbour office", "It is slow by four minutes. Tides take no notice of it."),
    Notice("November", "Storm warnings by lamp", "Three red lamps in a column at the mole: stay where you are."),
    Notice("December", "Long nights", "All lights are lit from 15:20. The keepers wish you a quiet watch."),
)  # fmt: skip

GUIDE = (
    ("arriving", "Arriving", "Call on channel 12 an hour out, and again at Gannet Rock. Someone always answers."),
    ("pilotage", "Pilotage", "Vessels over 40 m take a pilot. Smaller ones may, and after dusk should."),
    ("anchoring", "Anchoring", "Good holding in blue clay west of the Widow. East of it lies sand over rock, and many anchors."),
    ("mooring", "Mooring", "Double your lines when the glass falls. The bollards were cast from the old bridge and will hold."),
    ("signals", "Signals", "One long blast: I am coming round the mole. Five short: I doubt that you have seen me."),
    ("night", "By night", "Bring the two pier lights to an equal height, then steer between them until you smell bread."),
    ("fog", "In fog", "Stop where you know where you are. Ring your bell, and listen for Saint Brannoc's."),
    ("leaving", "Leaving", "Pay, fill your water, sign the book. Tell us where you go: we look at the book when you're late."),
)  # fmt: skip

FEES = (
    ("Day, up to 8 m", 9),
    ("Day, up to 12 m", 14),
    ("Day, up to 20 m", 25),
    ("Week, up to 12 m", 70),
    ("Fishing boats", 0),
)

WEATHER = (
    "clear",
    "haze",
    "drizzle",
    "fresh breeze",
    "fog until noon",
    "gale from the north-west",
    "flat calm",
    "hail",
)
EVENTS = (
    "Trimmed the lamp.",
    "Two schooners inbound.",
    "Gulls against the glass, none hurt.",
    "Wound the clockwork; it ran eleven minutes over.",
    "Relief boat turned back at the bar.",
    "Supper with the pilots.",
    "Counted the spare mantles: nine.",
    "A whale, or a very slow wave.",
)
