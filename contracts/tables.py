"""The columns of a run's CSV files, for those who write them and those who read them.

docs/records.md says what each column means and in which unit.
"""

from collections.abc import Mapping
from typing import NamedTuple

from contracts.events import Phase

# Where the time of a round went, along its critical path; each is a column of rounds.csv.
PHASES: tuple[str, ...] = (
    Phase.DOWNLOAD,
    Phase.COMPUTE,
    Phase.UPLOAD,
    Phase.WAIT,
    Phase.AGGREGATE,
)
ROUND_COLUMNS = ("round", "elapsed_seconds", "accuracy", "loss", *PHASES)

HOLDING_COLUMNS = ("client", "class", "samples")  # data.csv

# The tier of the cable between a server and its switch. All its traffic also crosses the links of
# the server's children, so totals leave it out.
ATTACHMENT = "attachment"
TRUNK = "trunk"  # the tier of links between the routers of a graph; the same holds for them


# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(text: str) -> str:
    """Return the text of a name for a CSV file so that no spreadsheet computes with it."""
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(_FORMULA) else text
    return text  # a number is what it is


class LinkRow(NamedTuple):
    """One link in one round, from links.csv; `up` leaves the host, `down` reaches it."""

    round: int
    link: str
    tier: str
    bytes_up: int
    bytes_down: int
    packets_up: int
    packets_down: int
    drops_up: int
    drops_down: int
    background_up: int = 0  # of the bytes, those of flows beside the training
    background_down: int = 0
    profile: str = ""  # of the host's link

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> "LinkRow":
        """Read a row of text; ValueError, KeyError or TypeError when it is incomplete."""
        whole = [int(fields[name]) for name in LINK_COUNTERS]
        beside = [int(fields.get(name) or 0) for name in BACKGROUND_COLUMNS]
        where = int(fields["round"]), fields["link"], fields["tier"]
        return cls._make((*where, *whole, *beside, fields.get(PROFILE_COLUMN) or ""))

    @property
    def counts(self) -> bool:
        """Whether it counts in totals: joining (round 0), attachments and trunks do not."""
        return self.round > 0 and self.tier not in (ATTACHMENT, TRUNK)

    @property
    def training_up(self) -> int:
        """The bytes up, without those of background flows."""
        return self.bytes_up - self.background_up

    @property
    def training_down(self) -> int:
        """The bytes down, without those of background flows."""
        return self.bytes_down - self.background_down


LINK_COUNTERS = LinkRow._fields[3:9]
LINK_COLUMNS = LinkRow._fields[:9]
BACKGROUND_COLUMNS = LinkRow._fields[9:11]  # only in runs whose scenario has [[traffic]]
PROFILE_COLUMN = LinkRow._fields[11]  # only in runs whose links of a tier differ


class CellRow(NamedTuple):
    """One model's accuracy in one round at one rho, from cells.csv."""

    round: int
    elapsed_seconds: float
    key: str
    rho: float
    accuracy: float

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> "CellRow":
        """Read a row of text; ValueError, KeyError or TypeError when it is incomplete."""
        when = int(fields["round"]), float(fields["elapsed_seconds"])
        return cls(*when, fields["key"], float(fields["rho"]), float(fields["accuracy"]))


CELL_COLUMNS = CellRow._fields


class DissimilarityRow(NamedTuple):
    """How much gradients differed in one measured round; None where a number is unknown."""

    round: int
    elapsed_seconds: float | None
    xi_squared: float | None
    g_squared: float | None


DISSIMILARITY_COLUMNS = DissimilarityRow._fields

HANDOVER_COLUMNS = (
    "client",
    "round",
    "at_seconds",
    "from",
    "to",
    "mode",
    "link_seconds",
    "service_seconds",
    "abandoned",
    "resent",
)

MEMBERSHIP_COLUMNS = ("round", "local_round", "edge", "members", "alone", "shared", "arrived")
