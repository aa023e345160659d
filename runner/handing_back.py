"""Behind sudo: what a command makes in the caller's directories becomes the caller's own.

A native run needs root, but its records belong to whoever typed `sudo ./metronome run`. A helper
process, started first, learns of every place that the command writes to. When the command ends,
however it ends, the helper gives all that root owns there to the caller. Places that were not the
caller's before stay root's; symbolic links are never followed.
"""

import contextlib
import os
import re
import signal
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import BadInput

_PATIENCE_SECONDS = 60.0  # for the helper, when the command ends
_DYING_SECONDS = 1.0  # for the processes of a command that was killed to be gone as well
_NO_MORE = b"\0"
# Where libraries and we ourselves keep what is worth keeping, if sudo left HOME to the caller.
_CACHES = (".cache/metronome", ".cache/matplotlib", ".config/matplotlib", ".cache/fontconfig")


@dataclass(frozen=True)
class _Caller:
    user: int
    group: int
    line: int  # to the helper: paths, each ended by a zero byte


_caller: _Caller | None = None


@contextlib.contextmanager
def handing_back(environment: Mapping[str, str]) -> Iterator[None]:
    """Hand back all that is made inside this block; without sudo, do nothing."""
    global _caller
    if os.geteuid() != 0 or _number(environment, "SUDO_UID", 0) == 0:
        yield
        return
    user, group = _number(environment, "SUDO_UID", 0), _number(environment, "SUDO_GID", -1)
    read_end, write_end = os.pipe()  # not inherited by programs that are started
    helper = os.fork()
    if helper == 0:
        os.close(write_end)
        _be_helper(read_end, user, group)
    os.close(read_end)
    _caller = _Caller(user, group, write_end)
    try:
        for place in _cache_directories(environment):
            claim(place)
        yield
    finally:
        _tell(_NO_MORE)
        _caller = None
        os.close(write_end)
        _wait_for(helper)


def _number(environment: Mapping[str, str], name: str, otherwise: int) -> int:
    text = environment.get(name)
    if not text:
        return otherwise
    if not re.fullmatch("[0-9]{1,10}", text, re.ASCII):
        raise BadInput(f'{name}: "{text}" is no user or group, as sudo would set it; unset it')
    return int(text)


def make_new_directory(path: Path) -> Path:
    """Make a directory that nobody else makes; where the name is taken, with an x after it."""
    make_directory(path.parent)
    while True:
        made = claim(path)
        try:
            path.mkdir()
        except FileExistsError:
            path = path.with_name(path.name + "x")
            continue
        for folder in made:
            _give_to_caller(folder)
        return path


def make_directory(path: Path) -> None:
    """Make a directory and its parents; behind sudo, they are the caller's from the start."""
    made = claim(path)
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(made):
        _give_to_caller(folder)


def _give_to_caller(folder: Path) -> None:
    if _caller is not None:
        _give(folder, _caller.user, _caller.group)


def claim(path: Path) -> list[Path]:
    """Say, before making it, that all in this directory is to be handed back.

    Return it and its parents as far as they are still to be made, the innermost first; nothing if
    the place is not the caller's.
    """
    if _caller is None:
        return []
    exists = path = path.resolve()
    missing = []
    while not exists.exists():
        missing.append(exists)
        exists = exists.parent
    if exists.stat().st_uid != _caller.user:
        return []
    for place in missing or [path]:
        _tell(os.fsencode(place) + b"\0")
    return missing


def _tell(words: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # somebody has killed the helper
        if _caller is not None:
            os.write(_caller.line, words)


def _cache_directories(environment: Mapping[str, str]) -> list[Path]:
    home = Path(environment.get("HOME") or "/")
    found = [home / name for name in _CACHES]
    if cache := environment.get("XDG_CACHE_HOME"):
        found.append(Path(cache, "metronome"))
    return found


def _be_helper(line: int, user: int, group: int) -> None:
    """Wait until the command has ended or was killed, then hand back; never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)  # whoever reads the command's output waits for its end
        said = b""
        while part := os.read(line, 65536):
            said += part
        was_killed = not said.endswith(_NO_MORE + _NO_MORE) and said != _NO_MORE
        places = [Path(os.fsdecode(name)) for name in said.split(b"\0") if name]
        for place in places:
            _give_all(place, user, group)
        if was_killed:
            time.sleep(_DYING_SECONDS)
            for place in places:
                _give_all(place, user, group)
    finally:
        os._exit(0)


def _give_all(top: Path, user: int, group: int) -> None:
    """Give a directory and all in it that root owns; whatever is gone meanwhile is passed over."""
    _give(top, user, group)
    with contextlib.suppress(OSError):
        for _, folders, files, here in os.fwalk(top, follow_symlinks=False):
            for name in (*folders, *files):
                _give(name, user, group, here)


def _give(path: Path | str, user: int, group: int, folder: int | None = None) -> None:
    """Give one file, if it is root's and has no second name that may be anywhere."""
    with contextlib.suppress(OSError):
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        linked_elsewhere = not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1
        if found.st_uid == 0 and not linked_elsewhere:
            os.chown(path, user, group, dir_fd=folder, follow_symlinks=False)


def _wait_for(helper: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while os.waitpid(helper, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.002)
