"""Runs that go on, as the report page shows them: read again only when something has come."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.events import Phase
from contracts.run_directory import RunDirectory
from reports.page.data import page_data
from reports.records.run_records import RunRecords

_REST = 2.0  # seconds between two readings, at least, ...
_REST_TIMES = 10.0  # ... and so many times what the last one took: a tenth of a core at most
_ROUND = f'"phase": "{Phase.ROUND}"'.encode()

Fingerprint = tuple[object, ...]


@dataclass
class _Rounds:
    """How many rounds events.jsonl tells of, without reading any of it twice."""

    path: Path
    _place: int = 0
    _file: int = 0
    _count: int = 0

    def count(self) -> int:
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._file or status.st_size < self._place:
                    # Sorted at the run's end, or a run begun anew.
                    self._file, self._place, self._count = status.st_ino, 0, 0
                file.seek(self._place)
                fresh = file.read()
        except OSError:
            return 0
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._place += len(whole)
        self._count += whole.count(_ROUND)
        return self._count


@dataclass
class _LiveRun:
    """One run, and what was last read of it."""

    directory: Path
    records: RunRecords | None = None
    _fingerprint: Fingerprint = ()
    _files: RunDirectory = field(init=False)
    _rounds: _Rounds = field(init=False)

    def __post_init__(self) -> None:
        self._files = RunDirectory(self.directory)
        self._rounds = _Rounds(self._files.events)

    def fingerprint(self) -> Fingerprint:
        """Changes when a round or an evaluation has come, or the run begins or ends."""
        files = self._files
        watched = (files.evaluations, files.plan, files.probes, files.summary)
        return self._rounds.count(), *map(_version, watched)

    def read(self, fingerprint: Fingerprint) -> None:
        """What cannot be read just now stays as it was: the next time it will be there."""
        if fingerprint == self._fingerprint:
            return
        try:
            started = self._files.plan.exists()
            records = RunRecords.read(self.directory) if started else None
        except (OSError, ValueError, KeyError, TypeError):
            return
        self.records, self._fingerprint = records, fingerprint


class LiveRuns:
    """The page's data of these runs, as far as they have come."""

    def __init__(
        self, directories: Sequence[Path], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._runs = [_LiveRun(directory) for directory in directories]
        self._clock = clock
        self._fingerprint: Fingerprint = ()
        self._next = clock()
        self.stamp = 0
        self.data: dict[str, Any] = {"runs": []}

    def refresh(self, at_once: bool = False) -> None:
        """Read what has come since; not when it was read a moment ago, unless `at_once`."""
        began = self._clock()
        if began < self._next and not at_once:
            return
        fingerprints = tuple(run.fingerprint() for run in self._runs)
        if fingerprints != self._fingerprint:
            for run, fingerprint in zip(self._runs, fingerprints, strict=True):
                run.read(fingerprint)
            self.data = page_data([run.records for run in self._runs if run.records is not None])
            self._fingerprint = fingerprints
            self.stamp += 1
        ended = self._clock()
        self._next = ended + max(_REST, _REST_TIMES * (ended - began))


def _version(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
