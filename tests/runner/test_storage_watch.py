"""Trouble with the places that a run writes to is noticed, and named by its place and its cause."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.storage_watch import RESERVE, StorageWatch, lacks_room

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    found = tmp_path / "run", tmp_path / "spool", tmp_path / "memory"
    for path in found:
        path.mkdir()
    return found


@pytest.fixture
def watch(places: tuple[Path, Path, Path]) -> Iterator[StorageWatch]:
    made = StorageWatch(*places)
    yield made
    made.close()


def test_ordinary_places_are_no_trouble(watch: StorageWatch) -> None:
    assert watch.trouble() is None


def test_a_renamed_directory_is_named_with_its_new_name(
    watch: StorageWatch, places: tuple[Path, Path, Path]
) -> None:
    run = places[0]
    run.rename(run.with_name("elsewhere"))

    assert watch.trouble() == (
        f"{run}: the run's directory was renamed to {run.with_name('elsewhere')} while the run "
        "went on"
    )
    assert watch.run_directory() == run.with_name("elsewhere")


def test_another_directory_in_its_place_is_not_taken_for_it(
    watch: StorageWatch, places: tuple[Path, Path, Path]
) -> None:
    places[0].rmdir()
    places[0].mkdir()

    assert "was removed while the run went on" in (watch.trouble() or "")
    assert watch.run_directory() is None


def test_a_spool_that_is_gone_is_named(
    watch: StorageWatch, places: tuple[Path, Path, Path]
) -> None:
    places[1].rmdir()

    assert watch.trouble() == f"{places[1]}: the run's spool was removed while the run went on"


@needs_root
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_full_file_system_and_a_read_only_one_are_named(
    places: tuple[Path, Path, Path], which: int
) -> None:
    place = places[which]
    small = ["mount", "-t", "tmpfs", "-o", "size=8m", "metronome-test", str(place)]
    subprocess.run(small, check=True)
    try:
        watch = StorageWatch(*places)
        assert watch.trouble() is None

        (place / "others").write_bytes(bytes((8 << 20) - (512 << 10)))
        full = watch.trouble() or ""
        lacks = lacks_room(place) or ""
        (place / "others").unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        read_only = watch.trouble() or ""
        watch.close()
    finally:
        subprocess.run(["umount", str(place)], check=True)

    assert (
        full.startswith(f"{place}: ")
        and "has no room left, 512 kB on a file system of 8 MB" in full
    )
    assert "no room left" in lacks and RESERVE > 512 << 10
    assert read_only.startswith(f"{place}: ") and "read-only" in read_only
