"""Where a run may keep the guest's memory and its spool."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.errors import BadInput
from contracts.project import ROOT
from netem import memory_left, places
from netem.places import Place, candidates, choose, look

Usage = namedtuple("Usage", "total used free")
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
GB = 1 << 30

# Looks at a directory that is mounted with these options, in a mount namespace of its own.
MOUNTED = """
import os, subprocess, sys
from pathlib import Path
from netem import places
subprocess.run(["mount", "-t", "tmpfs", "-o", sys.argv[2], "none", sys.argv[1]], check=True)
place = places.look(Path(sys.argv[1]))
print(place.in_memory, place.free, place.problem)
"""


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory with a short path, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="place-") as folder:
        yield Path(folder)


def mounted(path: Path, options: str) -> list[str]:
    command = ["unshare", "--mount", sys.executable, "-c", MOUNTED, str(path), options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip().split(" ", 2)


def test_shared_memory_comes_first_and_the_kernels_disk_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")

    wanted = ["/dev/shm", "/run/user/1000", "/var/tmp", "/cache/metronome"]
    assert [str(path) for path in candidates()] == wanted


def test_a_place_that_is_named_twice_is_one(monkeypatch: pytest.MonkeyPatch, short: Path) -> None:
    (short / "link").symlink_to(short)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    monkeypatch.setenv("TMPDIR", str(short / "link"))

    assert candidates().count(short) == 1
    assert short / "link" not in candidates()


def test_a_directory_can_be_used_and_is_left_empty(short: Path) -> None:
    place = look(short)

    assert place.problem == ""
    assert place.free <= shutil.disk_usage("/tmp").total
    assert list(short.iterdir()) == []


@NEEDS_ROOT
def test_a_tmpfs_is_memory_and_has_the_room_it_was_given(short: Path) -> None:
    assert mounted(short, "size=64m") == ["True", str(64 << 20)]


@NEEDS_ROOT
def test_a_place_where_nothing_may_be_executed_is_refused(short: Path) -> None:
    assert mounted(short, "noexec,size=64m")[2] == "programs there may not be executed"


@NEEDS_ROOT
def test_a_read_only_place_is_refused(short: Path) -> None:
    assert mounted(short, "ro,size=64m")[2] == "read-only file system"


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert look(tmp_path / "gone") == Place(
        tmp_path / "gone", False, 0, "no such file or directory"
    )


@pytest.mark.parametrize(
    ("name", "problem"), [("a b", "its path has a space"), ("x" * 60, "its path is longer than 54")]
)
def test_a_path_that_a_guest_cannot_be_told_is_refused(
    name: str, problem: str, short: Path
) -> None:
    (short / name).mkdir()

    assert look(short / name).problem.startswith(problem)


def test_the_kernels_disk_is_made_and_no_other_place(
    monkeypatch: pytest.MonkeyPatch, short: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(short / "cache"))

    assert look(short / "cache" / "metronome").problem == ""
    assert look(short / "other").problem == "no such file or directory"
    assert not (short / "other").exists()


def test_runs_at_once_share_a_place_and_none_counts_on_what_another_may_still_take(
    monkeypatch: pytest.MonkeyPatch, short: Path
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(8 * GB, 1 * GB, 7 * GB))
    monkeypatch.setattr(memory_left, "memory_left", lambda: 64 * GB)

    assert look(short).free == 7 * GB
    monkeypatch.setenv(places.RUNS_AT_ONCE, "4")
    assert look(short).free == 2 * GB


@pytest.mark.parametrize(("in_memory", "free"), [(True, 1 * GB), (False, 7 * GB)])
def test_memory_that_is_short_counts_for_what_is_in_memory_only(
    in_memory: bool, free: int, monkeypatch: pytest.MonkeyPatch, short: Path
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(8 * GB, 1 * GB, 7 * GB))
    monkeypatch.setattr(places, "_is_memory", lambda _: in_memory)
    monkeypatch.setattr(memory_left, "memory_left", lambda: 1 * GB)

    assert look(short).free == free


def test_the_first_place_with_room_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        Place(Path("/forbidden"), True, 99, "read-only file system"),
        Place(Path("/small"), True, 4),
        Place(Path("/large"), False, 5),
        Place(Path("/larger"), False, 6),
    ]
    monkeypatch.setattr(places, "candidates", lambda: [place.path for place in found])
    monkeypatch.setattr(places, "look", lambda path: {p.path: p for p in found}[path])

    assert choose(4, "it needs").path == Path("/small")
    assert choose(5, "it needs").path == Path("/large")
    with pytest.raises(BadInput, match=r": /forbidden \(read-only file system\), /small"):
        choose(7, "it needs")


def test_a_disk_is_called_one_with_what_is_wrong_with_shared_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = Place(places.SHARED_MEMORY, True, 64 << 20)
    monkeypatch.setattr(places, "look", lambda _: shared)

    disk = places.describe(Place(Path("/tmp"), False, GB))
    assert disk == "/tmp (1024 MB free), a disk; not /dev/shm (64 MB free)"
    assert places.describe(shared) == "/dev/shm (64 MB free)"
