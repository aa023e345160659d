"""How often the store has helped: what all runs together have remembered and computed."""

import contextlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from contracts.trained import Counts
from learning.remembering.store import Store, StoreTrouble, open_locked, place


@dataclass(frozen=True)
class Ledger:
    """Totals over all runs since the store was made or emptied."""

    runs: int = 0
    trainings_remembered: int = 0
    trainings_done: int = 0
    evaluations_remembered: int = 0
    evaluations_done: int = 0

    def plus(self, trainings: Counts, evaluations: Counts) -> "Ledger":
        """Return the totals with those of one more run."""
        return Ledger(
            self.runs + 1,
            self.trainings_remembered + trainings.remembered,
            self.trainings_done + trainings.done,
            self.evaluations_remembered + evaluations.remembered,
            self.evaluations_done + evaluations.done,
        )


def read(store: Store) -> Ledger:
    """Return the totals so far; those of a damaged file count as zero."""
    try:
        return _parse(_path(store).read_bytes())
    except OSError:
        return Ledger()


def add(trainings: Counts, evaluations: Counts) -> None:
    """Add what one run remembered and computed; trouble with the store does not matter here."""
    with contextlib.suppress(OSError, StoreTrouble), open_locked(_path(Store(place()))) as file:
        totals = _parse(file.read()).plus(trainings, evaluations)
        file.truncate(0)
        file.write(json.dumps(asdict(totals)).encode())


def reset(store: Store) -> None:
    """Begin to count anew."""
    _path(store).unlink(missing_ok=True)


def _path(store: Store) -> Path:
    return store.root / "totals.json"


def _parse(content: bytes) -> Ledger:
    try:
        found = json.loads(content)
        return Ledger(**{field.name: int(found[field.name]) for field in fields(Ledger)})
    except (ValueError, KeyError, TypeError):
        return Ledger()
