"""The table with a run's results that the terminal shows at its end."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from reports.records.handovers import TimelineTotals
from reports.records.summary import Summary
from reports.wording import duration, percent, size

_UNKNOWN = "not known"
_VERDICT_STYLES = {"exact": "green", "good": "green", "distorted": "bold red"}


def result_table(summary: Summary) -> Table:
    """Build the table: what a reader wants to know first, within 80 columns."""
    where = f"{summary.clock} clock, {summary.backend}, seed {summary.seed}"
    title = Text(f"{summary.name}: {summary.protocol}, {where}", style="bold")
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold", max_width=58)
    for label, words, style in _rows(summary):
        table.add_row(
            label, Text(words), style=style
        )  # as Text, so that brackets are not taken for markup
    return table


def _rows(summary: Summary) -> Iterator[tuple[str, str, str | None]]:
    if summary.failure is not None:
        yield "Failed", summary.failure, "bold red"
    yield "Accuracy", _accuracy(summary), None
    yield "Elapsed time", _elapsed(summary), None
    if summary.target_accuracy is not None:
        yield f"Time to {100 * summary.target_accuracy:g} %", _target(summary), None
    if summary.bottleneck:
        yield "Bottleneck", summary.bottleneck["sentence"], None
    yield "On the wire", _wire(summary), None
    if summary.refused:
        words = ", ".join(f"{count} x {reason}" for reason, count in summary.refused.items())
        yield "Refused messages", words, "yellow"
    if summary.lost:
        yield "Lost nodes", ", ".join(summary.lost), "yellow"
    if summary.timeline_totals is not None:
        yield from _happened(summary.timeline_totals)
    yield "Overruns", _overruns(summary), None
    if summary.fidelity:
        verdict = str(summary.fidelity.get("verdict", _UNKNOWN))
        reason = summary.fidelity.get("reason")
        words = f"{verdict}: {reason}" if reason else verdict
        yield "Fidelity", words, _VERDICT_STYLES.get(verdict)
    yield "Host time", _host(summary), None
    if summary.trainings.remembered or summary.evaluations.remembered:
        yield "Remembered", _remembered(summary), None


def _accuracy(summary: Summary) -> str:
    if summary.final_accuracy is None or summary.best_accuracy is None:
        return _UNKNOWN
    return f"{percent(summary.final_accuracy)} (best {percent(summary.best_accuracy)})"


def _elapsed(summary: Summary) -> str:
    if summary.elapsed_seconds is None:
        return "no round was finished"
    rounds = "1 round" if summary.rounds == 1 else f"{summary.rounds} rounds"
    stopped = ", stopped at the target" if summary.stopped_at_target else ""
    return f"{duration(summary.elapsed_seconds)} for {rounds}{stopped}"


def _target(summary: Summary) -> str:
    if summary.time_to_target_seconds is None:
        return "not reached"
    return f"{duration(summary.time_to_target_seconds)} (round {summary.rounds_to_target})"


def _wire(summary: Summary) -> str:
    if summary.bytes_on_wire is None:
        return _UNKNOWN
    words = size(summary.bytes_on_wire)
    if summary.wire_overhead is not None:
        words += f", {percent(summary.wire_overhead)} more than the models"
    if summary.background_bytes:
        words += f"; beside them {size(summary.background_bytes)} of background traffic"
    return f"{words}; {summary.drops} packets dropped"


def _happened(found: TimelineTotals) -> Iterator[tuple[str, str, str | None]]:
    """What became of updates is said once, with whatever happened first."""
    updates = f"; {_count(found.abandoned, 'update')} abandoned, {found.resent} resent"
    if found.handovers:
        words, mean = str(found.handovers), found.service_interruption_mean_seconds
        if mean is not None:
            words += f", {duration(mean)} without service on average"
        yield "Handovers", words + updates, None
        updates = ""
    if found.outages or found.crashes:
        words = f"{_count(found.outages, 'outage')}, {_count(found.crashes, 'crash', 'crashes')}"
        yield "Breakdowns", words + updates, None
        updates = ""
    if found.absences:
        yield "Absences", f"clients were away {_count(found.absences, 'time')}{updates}", None


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _overruns(summary: Summary) -> str:
    found = summary.overruns
    if found.nodes == 0 or found.share is None:
        return "none"
    nodes = "1 node" if found.nodes == 1 else f"{found.nodes} nodes"
    return f"{nodes}, {duration(found.seconds)} ({percent(found.share)} of all computing)"


def _host(summary: Summary) -> str:
    words = duration(summary.host_seconds)
    if not summary.elapsed_seconds or not summary.host_training_seconds:
        return words
    ratio = summary.elapsed_seconds / summary.host_training_seconds
    started = duration(summary.host_startup_seconds or 0.0)
    return f"{words}: start-up {started}, then {ratio:.2f} x real time"


def _remembered(summary: Summary) -> str:
    """How much of the run was done before, by other runs."""
    parts = []
    for what, counts in (("trainings", summary.trainings), ("evaluations", summary.evaluations)):
        parts.append(f"{counts.remembered} of {counts.remembered + counts.done} {what}")
    return " and ".join(parts)
