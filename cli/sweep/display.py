"""Shows the progress of a sweep: one live line per run on a terminal, plain lines elsewhere."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cli.sweep.child import RunningChild, RunOutcome
from reports.wording import duration, percent
from scenarios.expansion import SweepRun

_OTHER_LINES = 4  # of the terminal, besides those of running and waiting runs
_OTHER_COLUMNS = 86  # of a line, besides the name
_SHORTEST_NAME = 24


class SweepDisplay:
    """Prints a line for each run that has ended, and below it those running and waiting."""

    def __init__(self, total: int, there: int, console: Console) -> None:
        self._console, self._total, self._there = console, total, there
        self._started = self._ended = self.finished = there
        # Without a refreshing thread: processes are forked meanwhile.
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "SweepDisplay":
        if self._there:
            self._print(f"already there: {self._there} of {self._total} runs")
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, run: SweepRun) -> None:
        """Show that a run has begun."""
        self._started += 1
        if not self._console.is_terminal:
            self._print(f"{run.id}: started ({self._started} of {self._total})")

    def ended(self, ended: RunOutcome) -> None:
        """Show how a run ended."""
        self._ended += 1
        count = f"({self._ended} of {self._total}, took {duration(ended.seconds)})"
        if ended.failure is None:
            self.finished += 1
            self._print(f"{ended.run.id}: {describe_summary(ended.summary)} {count}")
        else:
            self._print(f"{ended.run.id}: FAILED: {ended.failure} {count}", style="bold red")

    def tick(self, running: Sequence[RunningChild], waiting: Sequence[SweepRun]) -> None:
        """Refresh the live lines of the runs under way and of those that wait."""
        if self._console.is_terminal:
            room = max(0, self._console.height - len(running) - _OTHER_LINES)
            self._live.update(self._lines(running, waiting, room), refresh=True)

    def interrupted(self, running: int) -> None:
        """Show that the runs under way are being ended."""
        runs = "1 run" if running == 1 else f"{running} runs"
        self._print(f"ending {runs}, which may take some seconds")

    def _lines(
        self, running: Sequence[RunningChild], waiting: Sequence[SweepRun], room: int
    ) -> Group:
        table = Table.grid(padding=(0, 2), expand=True)
        names = [len(self._name(run)) for run in (*(child.run for child in running), *waiting)]
        table.add_column(no_wrap=True, width=max(names, default=0))
        table.add_column(no_wrap=True, width=11, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for child in running:
            words = Text(child.progress() or "starting")
            table.add_row(self._name(child.run), duration(child.seconds), words)
        shown = waiting if len(waiting) <= room else ()
        for run in shown:
            table.add_row(self._name(run), "", "waiting", style="dim")
        rest = f", {len(waiting)} waiting" if waiting and not shown else ""
        return Group(table, Text(f"{self._ended} of {self._total} runs ended{rest}", style="bold"))

    def _name(self, run: SweepRun) -> Text:
        """Shorten a long name from the left: its end is what distinguishes the runs."""
        width = max(_SHORTEST_NAME, self._console.width - _OTHER_COLUMNS)
        return Text(run.id if len(run.id) <= width else f"…{run.id[1 - width :]}")

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def describe_summary(summary: dict[str, Any]) -> str:
    """Describe accuracy, elapsed time and time to target, as far as they are known."""
    parts = []
    if (accuracy := summary.get("final_accuracy")) is not None:
        parts.append(f"accuracy {percent(accuracy)}")
    if (elapsed := summary.get("elapsed_seconds")) is not None:
        parts.append(f"elapsed {duration(elapsed)}")
    if (target := summary.get("target_accuracy")) is not None:
        reached = summary.get("time_to_target_seconds")
        when = "not reached" if reached is None else f"after {duration(reached)}"
        parts.append(f"{100 * target:g} % {when}")
    return ", ".join(parts) or "finished"
