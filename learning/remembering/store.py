"""The store: a bounded directory of results by name, shared by all runs of a user.

docs/remembering.md describes its files. An entry is written aside and renamed, so that it is there
whole or not at all; any number of processes may read and write, and each may be killed at any time.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import xxhash

from learning.user_cache import cache_dir
from protocols.wire import Message, Refused
from protocols.wire.file import from_bytes, to_pieces

FORMAT = "1"
SHARE = 10  # by default it takes this part of the free disk, its own entries counted as free
_KEPT = 0.9  # of its limit is left when it has to make room
_ASIDE_SECONDS = 3600.0  # what lies aside for longer was left by a process that was killed
_LOCK_SECONDS = 60.0  # it is held for moments; longer only by a process that was stopped
_MAGIC = b"METROREM"
_HEAD = struct.Struct("<8s16s40x")  # the checksum of all that follows; arrays stay aligned


class StoreTrouble(Exception):
    """The store cannot be used; one sentence says why, and what to do."""


def place() -> Path:
    """Return the directory of the user's store."""
    return cache_dir() / "remembered"


class Store:
    """Keeps messages by name; those that were not used for longest make room for new ones."""

    def __init__(self, root: Path) -> None:
        """Open the store, or make it; StoreTrouble where that is impossible."""
        self.root = root
        self._entries, self._aside = root / "entries", root / "aside"
        self._size, self._limit = root / "size", root / "limit"
        with self._trouble():
            for folder in (self._entries, self._aside):
                folder.mkdir(parents=True, exist_ok=True)
            self._check_format(root / "format")
            self._lock = (root / "lock").open("ab")
            self._working = (root / "working").open("ab")
            self._sweep_aside()

    def clear(self) -> None:
        """Remove all entries; the limit stays, and so do the locks of those at work."""
        with self._trouble(), self._locked():
            for _, _, path in self.scan():
                path.unlink(missing_ok=True)
            self._note_size(0)

    def _check_format(self, file: Path) -> None:
        try:
            found = file.read_text(errors="replace").strip()
        except FileNotFoundError:
            found = ""
        if not found:  # also after a loss of power
            write_aside(self._aside, file, [FORMAT.encode()])
        elif found != FORMAT:
            raise StoreTrouble(
                f"{self.root}: written by another version of Metronome (format {found[:20]!r}, "
                f"this one has {FORMAT}); ./metronome cache --clear empties it"
            )

    def path(self, name: str) -> Path:
        """Return where the entry of this name is, or would be."""
        return self._entries / name[:2] / name[2:]

    def get(self, name: str) -> Message | None:
        """Return what is kept under this name; a damaged entry is removed and counts as absent."""
        path = self.path(name)
        with self._trouble():
            try:
                with path.open("rb", buffering=0) as file:
                    content = memoryview(file.readall())
            except FileNotFoundError:
                return None
            try:
                found = _checked(content)
            except (Refused, ValueError):
                path.unlink(missing_ok=True)
                return None
            with contextlib.suppress(OSError):
                os.utime(path)  # used just now
            return found

    def put(self, name: str, message: Message) -> None:
        """Keep a message under this name, and make room for it if need be."""
        pieces = to_pieces(message)
        digest = xxhash.xxh3_128()
        for piece in pieces:
            digest.update(piece)
        size = _HEAD.size + sum(memoryview(piece).nbytes for piece in pieces)
        with self._trouble():
            if size > self.limit() * _KEPT:
                return
            path = self.path(name)
            path.parent.mkdir(exist_ok=True)
            replaced = path.exists()
            write_aside(self._aside, path, [_HEAD.pack(_MAGIC, digest.digest()), *pieces])
            self._grown(0 if replaced else size)

    def knows(self, name: str) -> bool:
        """Return whether there is an entry of this name, without reading it."""
        with self._trouble():
            return self.path(name).exists()

    def begin(self, name: str) -> bool:
        """Say that this process works on what will have this name; False if another one does.

        The kernel forgets it when the process ends.
        """
        return self._mark(name, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def end(self, name: str) -> None:
        """Say that this process has finished, well or not."""
        self._mark(name, fcntl.LOCK_UN)

    def _mark(self, name: str, how: int) -> bool:
        """Lock the byte of one file whose number follows from the name."""
        with self._trouble():
            try:
                fcntl.lockf(self._working, how, 1, int(name[:15], 16))
            except (BlockingIOError, PermissionError):
                return False
            return True

    def limit(self) -> int:
        """Return how many bytes the entries may take: as the user said, or a share of the disk."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int(self._limit.read_text())
        return (shutil.disk_usage(self.root).free + self.size()) // SHARE

    @property
    def limited(self) -> bool:
        """Whether the user has set the limit."""
        return self._limit.exists()

    def set_limit(self, limit: int) -> None:
        """Keep to this many bytes from now on."""
        with self._trouble(), self._locked():
            write_aside(self._aside, self._limit, [str(limit).encode()])
            self._make_room(limit)

    def size(self) -> int:
        """Return how many bytes the entries take."""
        noted = self._noted_size()
        return sum(size for _, size, _ in self.scan()) if noted is None else noted

    def _noted_size(self) -> int | None:
        """Return the noted size; a process that was killed may have missed noting an entry."""
        try:
            return max(0, int(self._size.read_text()))
        except (FileNotFoundError, ValueError):
            return None

    def scan(self) -> Iterator[tuple[float, int, Path]]:
        """Yield the time of last use, the size and the path of every entry."""
        for folder in self._entries.iterdir():
            with (
                contextlib.suppress(FileNotFoundError, NotADirectoryError),
                os.scandir(folder) as found,
            ):
                for entry in found:
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        yield status.st_mtime, status.st_size, Path(entry.path)

    def _grown(self, size: int) -> None:
        with self._locked():
            noted, limit = self._noted_size(), self.limit()
            total = self.size() if noted is None else noted + size
            if total > limit:
                self._make_room(limit)
            else:
                self._note_size(total)

    def _make_room(self, limit: int) -> None:
        """Remove what was not used for longest, if there is too much; holds the lock."""
        entries = sorted(self.scan(), key=lambda entry: entry[0])
        total = sum(size for _, size, _ in entries)
        if total > limit:
            for _, size, path in entries:
                if total <= limit * _KEPT:
                    break
                path.unlink(missing_ok=True)
                total -= size
        self._note_size(total)

    def _sweep_aside(self) -> None:
        """Remove what killed processes were writing."""
        for path in self._aside.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _ASIDE_SECONDS:
                    path.unlink()

    def _note_size(self, size: int) -> None:
        write_aside(self._aside, self._size, [str(size).encode()])

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not self._lock_taken():
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another process holds its lock")
            time.sleep(0.001)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _lock_taken(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @contextlib.contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreTrouble(
                f"{self.root}: trainings cannot be remembered ({error.strerror or error}); make "
                "room or mend its permissions, or set XDG_CACHE_HOME to another place"
            ) from error


def write_aside(aside: Path, path: Path, pieces: list[bytes | memoryview]) -> None:
    """Write a file in a directory of the same disk, then rename it; other writers do no harm."""
    unfinished = aside / f"{path.name}-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with unfinished.open("wb") as file:
            file.writelines(pieces)
        unfinished.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def open_locked(path: Path) -> IO[bytes]:
    """Open a small file that several processes change, and lock it until it is closed."""
    file = path.open("a+b")
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0)
    return file


def _checked(content: memoryview) -> Message:
    """Read an entry; ValueError or Refused if it is not as it was written."""
    if content.nbytes < _HEAD.size:
        raise ValueError("cut short")
    magic, digest = _HEAD.unpack_from(content)
    body = content[_HEAD.size :]
    if magic != _MAGIC or xxhash.xxh3_128_digest(body) != digest:
        raise ValueError("damaged")
    return from_bytes(body)
