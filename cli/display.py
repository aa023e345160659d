"""Shows the progress of a run: one live line on a terminal, plain lines elsewhere."""

import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.progress import TaskID as BarId
from rich.table import Column

from contracts import progress, status
from contracts.plan import Plan
from contracts.progress import Progress as RunProgress
from contracts.status import NodeLost, RoundEnded, Status
from reports.records.round_scores import LatestAccuracy
from reports.wording import duration, percent

_WORDS: dict[type[Status], str] = {
    status.BuildingNetwork: "building the network",
    status.StartingNodes: "starting the nodes",
    status.MeasuringLinks: "measuring the links",
    status.Training: "training",
}


class RunDisplay:
    """Shows the round, the elapsed time, an estimate of the time left, and the last known accuracy.

    A model is evaluated while the next round goes on, so the accuracy is that of an earlier round,
    which is named.
    """

    def __init__(self, plan: Plan, console: Console, progress_file: Path | None = None) -> None:
        """`progress_file`: where the sweep that started this run, if any, reads its progress."""
        self._console, self._rounds, self._progress_file = console, plan.rounds, progress_file
        self._live = console.is_terminal
        self._started = self._ended = 0.0  # the first round's start, the last one's end
        self._round, self._elapsed = 0, 0.0
        self._latest = LatestAccuracy(plan)
        self._training_is_over = False
        self._words = "starting"
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[figures]}"),
            console=console,
            transient=True,
        )
        self._bar: BarId | None = None

    def __enter__(self) -> "RunDisplay":
        if self._live:
            self._progress.start()
            self._bar = self._progress.add_task("starting", total=self._rounds, figures="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._progress.stop()

    def status(self, record: Status) -> None:
        """Show how far the launcher has got."""
        if isinstance(record, RoundEnded):
            self._round, self._elapsed = record.round, record.elapsed
            self._ended = time.monotonic()
            if self._round == 0:
                self._started = self._ended
            else:
                self._round_ended()
        elif isinstance(record, NodeLost):
            self._print(f"lost {record.node} ({record.error}); going on with a quorum")
        else:
            self._show(_WORDS[type(record)])

    def note(self, sentence: str) -> None:
        """Show something that the user should know."""
        self._print(sentence)

    def evaluating(self) -> None:
        """Show that training is over and the last models are being evaluated."""
        self._training_is_over = True
        self._show("evaluating the last models")

    def evaluation(self, line: dict[str, Any]) -> None:
        """Take a line of evaluations.jsonl; with the last one of a round, its accuracy is known.

        The line of a later round will show it; after the last round it gets a line of its own.
        """
        if not self._latest.add(line):
            return
        if self._round:
            self._write_progress()
        if self._training_is_over and not self._live:
            self._print(describe_accuracy(self._now()))

    def tick(self) -> None:
        """Refresh the live line; called several times a second."""
        if self._bar is not None:
            self._progress.update(
                self._bar, completed=self._round, description=self._words, figures=self._figures()
            )

    def _round_ended(self) -> None:
        if not self._live:
            self._print(describe_round(self._now()))
        self._write_progress()

    def _write_progress(self) -> None:
        if self._progress_file is not None:
            progress.write(self._progress_file, self._now())

    def _now(self) -> RunProgress:
        left = 0.0
        if self._round:
            each = (self._ended - self._started) / self._round
            left = each * (self._rounds - self._round) - (time.monotonic() - self._ended)
        return RunProgress(
            self._round,
            self._rounds,
            self._elapsed,
            max(0.0, left),
            self._latest.accuracy,
            self._latest.round,
        )

    def _figures(self) -> str:
        return describe_progress(self._now())

    def _show(self, words: str) -> None:
        self._words = words
        if not self._live:
            self._print(words)

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def describe_round(now: RunProgress) -> str:
    """Describe a run at the end of a round in one line."""
    return f"round {now.round}/{now.rounds}  {describe_progress(now)}"


def describe_progress(now: RunProgress) -> str:
    """Describe accuracy, elapsed time and time left, as far as they are known."""
    parts = []
    if accuracy := describe_accuracy(now):
        parts.append(accuracy)
    if now.round:
        parts.append(f"elapsed {duration(now.elapsed)}")
    if 0 < now.round < now.rounds:
        parts.append(f"about {duration(now.seconds_left)} left")
    return "  ".join(parts)


def describe_accuracy(now: RunProgress) -> str:
    """Say the last known accuracy and the round that it belongs to; empty before the first."""
    if now.accuracy is None:
        return ""
    when = f"round {now.accuracy_round}" if now.accuracy_round else "untrained"
    return f"accuracy {percent(now.accuracy)} ({when})"
