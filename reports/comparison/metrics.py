"""The metrics of a comparison, one row each.

The terminal's table, Markdown, comparison.csv and comparison-over.csv are all made from `METRICS`.
To compare runs by something new, add a row there; nothing else has to change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from reports.comparison.rise_time import WINDOW
from reports.comparison.runs import Point, Run

Statistic = Literal["mean", "deviation", "least", "most"]

ALL_STATISTICS: tuple[Statistic, ...] = ("mean", "deviation", "least", "most")
_ROOMY, _WIDE, _WIDEST = 96, 124, 150  # columns of a terminal


class Kind(Enum):
    """The kind of number a metric is; it decides the unit in which tables show it."""

    COUNT = "count"
    SHARE = "share"  # shown in percent
    SECONDS = "seconds"  # always shown in seconds
    TIME = "time"  # seconds, shown in the unit that suits the whole comparison
    SIZE = "size"  # bytes, shown in the unit that suits the section


@dataclass(frozen=True)
class Visibility:
    """When a metric's column appears in a table; the CSV files always contain it."""

    only_where_known: bool = False  # left out of sections in which no run has a value
    # The others concern the terminal only; Markdown has room for everything.
    from_width: int = 0
    only_with_target: bool = False
    always_without_target: bool = False  # shown at any width if there is no target


ALWAYS = Visibility()


@dataclass(frozen=True)
class Metric:
    """One number of a run, and how tables and CSV files show it for a group of runs."""

    name: str
    # From a run and the round in which it reached the target (None if it never did).
    value_of: Callable[[Run, Point | None], float | None]
    kind: Kind
    # Starts the names of the CSV columns; the statistic follows: final_accuracy_mean.
    csv: str
    csv_statistics: tuple[Statistic, ...] = ("mean",)  # those that comparison.csv contains
    # None: no column of its own in tables. "{unit}" stands for the unit's name; the terminal
    # breaks the header where it has a line break.
    header: str | None = None
    in_brackets: "Metric | None" = None  # shown after this one in the same column
    shown: Visibility = ALWAYS
    # Whether the cell also shows the deviation, or says why there is no number.
    explained: bool = False
    # Shown below a table if some runs of a group have no value; "{groups}" names those groups.
    note: str | None = None
    grid_place: int | None = None  # the position among the columns of comparison-over.csv, if any


@dataclass(frozen=True)
class SpeedUp:
    """How many times less of a metric a group needs than the baseline; only with a baseline."""

    metric: Metric
    csv: str
    header: str
    shown: Visibility


def _at_target(value_of: Callable[[Run, Point], float | None]) -> Callable[..., float | None]:
    """Wrap a number that only runs which reached the target have."""
    return lambda run, arrival: None if arrival is None else value_of(run, arrival)


def _elapsed(run: Run, _: Point | None) -> float | None:
    """Return the whole run's seconds, or those to its last evaluation if the summary has none."""
    return run.elapsed or (run.points[-1].seconds if run.points else None)


_TARGET = Visibility(only_with_target=True)
_RISE = Visibility(from_width=_WIDE, always_without_target=True)

ROUNDS = Metric(
    "rounds",
    _at_target(lambda _, arrival: arrival.round),
    Kind.COUNT,
    csv="rounds_to_target",
    header="rounds",
    shown=_TARGET,
)
TIME = Metric(
    "time",
    _at_target(lambda _, arrival: arrival.seconds),
    Kind.TIME,
    csv="seconds_to_target",
    csv_statistics=ALL_STATISTICS,
    header="time to\ntarget ({unit})",
    shown=_TARGET,
    explained=True,
    grid_place=2,
)
FINAL = Metric(
    "final accuracy",
    lambda run, _: run.points[-1].accuracy if run.points else None,
    Kind.SHARE,
    csv="final_accuracy",
    header="final\n{unit}",
    grid_place=1,
)
BEST = Metric(
    "best accuracy",
    lambda run, _: max((point.accuracy for point in run.points), default=None),
    Kind.SHARE,
    csv="best_accuracy",
    csv_statistics=("mean", "most"),
    header="best\n{unit}",
)
ROLLING = Metric(
    "mean accuracy of the last rounds",
    lambda run, _: run.rise_times.rolling_accuracy,
    Kind.SHARE,
    csv="rolling_accuracy",
    header=f"last {WINDOW}\n{{unit}}",
    shown=_RISE,
)
RISE_TIME = Metric(
    "rise time",
    lambda run, _: run.rise_times.rise_seconds,
    Kind.TIME,
    csv="rise_seconds",
    csv_statistics=ALL_STATISTICS,
)
RISE_ROUNDS = Metric(
    "rise rounds",
    lambda run, _: run.rise_times.rise_rounds,
    Kind.COUNT,
    csv="rise_rounds",
    header="T90\nrounds",
    in_brackets=RISE_TIME,
    shown=_RISE,
)
HALF_TIME = Metric(
    "time to one half",
    lambda run, _: run.rise_times.half_seconds,
    Kind.TIME,
    csv="half_seconds",
    csv_statistics=ALL_STATISTICS,
)
HALF_ROUNDS = Metric(
    "rounds to one half",
    lambda run, _: run.rise_times.half_rounds,
    Kind.COUNT,
    csv="half_rounds",
    header="T0.5\nrounds",
    in_brackets=HALF_TIME,
    shown=_RISE,
    note="T0.5 of {groups}: over those of its runs that reached one half",
)
BYTES_TO_TARGET = Metric(
    "bytes to target",
    _at_target(lambda run, arrival: run.carried.get(arrival.round)),
    Kind.SIZE,
    csv="bytes_to_target",
    header="{unit} to\ntarget",
    shown=Visibility(from_width=_ROOMY, only_with_target=True),
)
BYTES_ON_WIRE = Metric(
    "bytes on the wire",
    lambda run, _: run.bytes_on_wire,
    Kind.SIZE,
    csv="bytes_on_wire",
    header="{unit}\nin all",
)
LOCAL_TRAINING = Metric(
    "seconds that a client trains in a round",
    lambda run, _: run.figures.get("local_training_seconds"),
    Kind.SECONDS,
    csv="local_training_seconds",
    header="training a round ({unit})",
    shown=Visibility(only_where_known=True, from_width=_WIDEST),
)
ELAPSED = Metric(
    "elapsed time",
    _elapsed,
    Kind.TIME,
    csv="elapsed_seconds",
    csv_statistics=(),
    grid_place=3,
)

# In the order of their columns.
METRICS: tuple[Metric | SpeedUp, ...] = (
    ROUNDS,
    TIME,
    SpeedUp(TIME, csv="speed_up", header="speed-\nup", shown=_TARGET),
    SpeedUp(
        ROUNDS, csv="speed_up_in_rounds", header="in rounds", shown=Visibility(from_width=_WIDEST)
    ),
    FINAL,
    BEST,
    ROLLING,
    RISE_ROUNDS,
    RISE_TIME,
    HALF_ROUNDS,
    HALF_TIME,
    BYTES_TO_TARGET,
    BYTES_ON_WIRE,
    LOCAL_TRAINING,
    ELAPSED,
)


def all_metrics() -> tuple[Metric | SpeedUp, ...]:
    """Return every metric and speed-up, in the order of their columns."""
    return METRICS


def grid_metrics() -> list[Metric]:
    """Return the metrics of comparison-over.csv, in the order of its columns."""
    found = [row for row in METRICS if isinstance(row, Metric) and row.grid_place is not None]
    return sorted(found, key=lambda metric: metric.grid_place or 0)
