"""Child processes for sweeps that are a few lines of shell instead of real runs."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.sweep.child import RunningChild, RunOutcome
from cli.sweep.directories import RunPaths
from scenarios import loader
from scenarios.expansion import SweepRun
from tests.support.scenario_trees import star_scenario

# $0 is the scenario's file, $1 the run's directory.
FINISHES = """
mkdir "$1" && cp "$0" "$1/scenario.toml"
echo "round 1/2  elapsed 3 s"
echo '{"failure": null, "final_accuracy": 0.5, "elapsed_seconds": 63}' > "$1/summary.json"
"""
# Says nothing while it goes on, so that a display which counts those that speak leaves it out.
FINISHES_SILENTLY = FINISHES.replace('echo "round', ': "round')
FAILS = """mkdir "$1" && touch "$1/plan.json" && echo '{"failure": "no link"}' > "$1/summary.json"
echo "the run failed: no link"; exit 1"""
GOES_ON = """mkdir -p "$1/logs"; echo $$ > "$1/pid"; echo "round 1/9  elapsed 3 s"
exec sleep 300"""


def some_runs(count: int = 2, **sections: Any) -> list[SweepRun]:
    """Return runs named seed1, seed2, and so on."""
    one = loader.check(star_scenario(clients=1, clock="virtual", **sections))
    copies = [one.model_copy(update={"seed": number + 1}) for number in range(count)]
    return [SweepRun(f"seed{copy.seed}", copy) for copy in copies]


@dataclasses.dataclass
class Programs:
    """The command of each child: its own program from `own`, or `others`."""

    others: str = FINISHES
    own: dict[str, str] = dataclasses.field(default_factory=dict)
    started: list[str] = dataclasses.field(default_factory=list)

    def __call__(self, place: RunPaths) -> list[str]:
        name = place.directory.name
        self.started.append(name)
        program = self.own.get(name, self.others)
        return ["sh", "-c", program, str(place.scenario), str(place.directory)]


class Watcher:
    """A display that remembers; it presses Ctrl-C once so many runs have shown progress.

    If runs are to wait until their progress was seen, it puts a file named N into `seen` once it
    has seen N different words.
    """

    def __init__(self, interrupt_after: int | None = None, seen: Path | None = None) -> None:
        self._seen = seen
        self.outcomes: list[RunOutcome] = []
        self.words: set[str] = set()
        self.most = 0
        self._interrupt_after = interrupt_after

    def started(self, run: SweepRun) -> None:
        """Not remembered."""

    def ended(self, ended: RunOutcome) -> None:
        self.outcomes.append(ended)

    def tick(self, running: Sequence[RunningChild], waiting: Sequence[SweepRun]) -> None:
        self.most = max(self.most, len(running))
        spoken = [child.progress() for child in running if child.progress()]
        self.words.update(spoken)
        if self._seen is not None and self.words:
            (self._seen / str(len(self.words))).touch()
        if self._interrupt_after is not None and len(spoken) >= self._interrupt_after:
            raise KeyboardInterrupt

    def interrupted(self, running: int) -> None:
        """Not remembered."""


def process_id(directory: Path) -> int | None:
    """Return the process id that GOES_ON wrote down, if it has done so."""
    file = directory / "pid"
    text = file.read_text() if file.exists() else ""
    return int(text) if text.endswith("\n") else None
