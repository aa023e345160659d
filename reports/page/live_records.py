"""Page data of runs that are still going on, read again only when something has changed."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from contracts.events import Phase
from contracts.run_directory import RunDirectory
from reports.page.data import page_data
from reports.records.provenance import read_provenance
from reports.records.run_records import RunRecords

_REST = 2.0  # seconds: the shortest pause between two readings
_REST_TIMES = 10.0  # the pause as a multiple of the last reading's time: a tenth of a core at most
_ROUND = f'"phase": "{Phase.ROUND}"'.encode()

Fingerprint = tuple[object, ...]


@dataclass
class _Rounds:
    """Counts the finished rounds in events.jsonl without reading any part of it twice."""

    path: Path
    _place: int = 0
    _file: int = 0
    _count: int = 0

    def count(self) -> int:
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._file or status.st_size < self._place:
                    # The file was sorted at the run's end, or the run was started again.
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
    refusal: str | None = None  # set if the records are newer than this program
    _fingerprint: Fingerprint = ()
    _files: RunDirectory = field(init=False)
    _rounds: _Rounds = field(init=False)

    def __post_init__(self) -> None:
        self._files = RunDirectory(self.directory)
        self._rounds = _Rounds(self._files.events)

    def fingerprint(self) -> Fingerprint:
        """Return a value that changes with each round or evaluation, and at start and end."""
        files = self._files
        watched = (files.evaluations, files.plan, files.probes, files.summary)
        return self._rounds.count(), *map(_version, watched)

    def read(self, fingerprint: Fingerprint) -> None:
        """Read the records anew; what cannot be read just now stays as it was until next time.

        Records of a newer schema are refused, as `report` refuses them.
        """
        if fingerprint == self._fingerprint:
            return
        records, refusal = None, None
        try:
            if self._files.plan.exists():
                read_provenance(self.directory)
                records = RunRecords.read(self.directory)
        except BadInput as error:
            refusal = str(error)
        except (OSError, ValueError, KeyError, TypeError):
            return
        self.records, self.refusal, self._fingerprint = records, refusal, fingerprint


class LiveRuns:
    """The page data of several runs, as far as they have come; used by `cli.live_server`."""

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
        """Read what is new, but not more often than the load limits allow unless `at_once`."""
        began = self._clock()
        if began < self._next and not at_once:
            return
        fingerprints = tuple(run.fingerprint() for run in self._runs)
        if fingerprints != self._fingerprint:
            for run, fingerprint in zip(self._runs, fingerprints, strict=True):
                run.read(fingerprint)
            self.data = self._page_data()
            self._fingerprint = fingerprints
            self.stamp += 1
        ended = self._clock()
        self._next = ended + max(_REST, _REST_TIMES * (ended - began))

    def _page_data(self) -> dict[str, Any]:
        """The data of all runs that can be shown, and why the others cannot."""
        data = page_data([run.records for run in self._runs if run.records is not None])
        refused = [run.refusal for run in self._runs if run.refusal is not None]
        return {**data, "refused": refused} if refused else data


def _version(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
