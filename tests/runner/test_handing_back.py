"""Behind sudo: what a command makes becomes the caller's, and nothing else does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.project import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")

CALLER = 54321  # a user that does not exist, as on a machine with users elsewhere
OTHER = 54322

COMMAND = """
import os, sys, time
from pathlib import Path
from runner.handing_back import claim, handing_back, make_directory
with handing_back(os.environ):
    {body}
"""
MAKE_A_RUN = """run = Path("runs", "first")
    make_directory(run)
    (run / "logs").mkdir()
    (run / "logs" / "worker-0.log").write_text("words")
    (run / "plan.json").write_text("{}")
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory in which the caller is; it has one file already."""
    (tmp_path / "notes").write_text("the caller's")
    for path in (tmp_path, tmp_path / "notes"):
        os.chown(path, CALLER, CALLER)
    return tmp_path


def start(home: Path, body: str, **environment: str) -> "subprocess.Popen[str]":
    as_sudo_does = {"SUDO_UID": str(CALLER), "SUDO_GID": str(CALLER), "HOME": str(home)}
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND.replace("{body}", body)],
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | as_sudo_does | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(home: Path, body: str, **environment: str) -> tuple[int, str]:
    process = start(home, body, **environment)
    output, _ = process.communicate(timeout=30)
    return process.returncode, output


def owners(folder: Path) -> dict[str, tuple[int, int]]:
    """The owner and group of all below a folder, by relative path."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {str(path.relative_to(folder)): (at.st_uid, at.st_gid) for path, at in found}


def all_the_callers(folder: Path) -> bool:
    return set(owners(folder).values()) == {(CALLER, CALLER)}


def test_all_that_a_command_makes_in_the_callers_directory_is_the_callers(home: Path) -> None:
    code, output = run(home, MAKE_A_RUN)

    assert code == 0, output
    assert "runs/first/logs/worker-0.log" in owners(home)
    assert all_the_callers(home)


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "raise OSError", "sys.exit(3)"])
def test_also_when_the_command_fails_or_is_interrupted(home: Path, end: str) -> None:
    code, _ = run(home, MAKE_A_RUN + f"    {end}")

    assert code != 0
    assert all_the_callers(home)


def test_also_when_the_command_is_killed(home: Path) -> None:
    process = start(home, MAKE_A_RUN + "    time.sleep(60)")
    wait_until((home / "runs" / "first" / "plan.json").exists)

    process.kill()
    process.communicate(timeout=30)

    wait_until(lambda: all_the_callers(home))


def test_ctrl_c_of_the_whole_terminal_does_not_end_the_helper_first(home: Path) -> None:
    body = MAKE_A_RUN + "    (run / 'made').touch()\n    time.sleep(60)"
    process = start(home, body)
    wait_until((home / "runs" / "first" / "made").exists)
    for pid in [process.pid, *_children(process.pid)]:
        os.kill(pid, signal.SIGINT)

    process.communicate(timeout=30)

    assert all_the_callers(home)


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_directory_is_the_callers_as_soon_as_it_is_there(home: Path) -> None:
    """So that the caller can delete what is in it, and a second run beside it finds it so."""
    body = "make_directory(Path('runs/first'))\n    print(os.stat('runs').st_uid)"
    body += "\n    print(os.stat('runs/first').st_uid)"

    _, output = run(home, body)

    assert output.split() == [str(CALLER)] * 2


def test_caches_in_the_callers_home_are_handed_back(home: Path) -> None:
    makes = "os.makedirs('.cache/metronome/data'); os.makedirs('elsewhere/metronome/native')"

    run(home, makes, XDG_CACHE_HOME=str(home / "elsewhere"))

    assert owners(home).keys() >= {".cache/metronome/data", "elsewhere/metronome/native"}
    assert all_the_callers(home)


def test_what_was_there_before_and_is_claimed_by_nobody_stays_as_it_is(home: Path) -> None:
    (home / "roots").mkdir()
    (home / "roots" / "file").touch()

    run(home, MAKE_A_RUN + "    Path('not-claimed').touch()")

    found = owners(home)
    assert found["roots"] == found["roots/file"] == found["not-claimed"] == (0, 0)


def test_a_place_that_is_not_the_callers_stays_roots(home: Path) -> None:
    (home / "roots").mkdir()

    run(home, "make_directory(Path('roots/run'))\n    Path('roots/run/plan.json').touch()")

    found = owners(home)
    assert found["roots/run"] == found["roots/run/plan.json"] == (0, 0)


def test_files_of_a_third_user_links_and_files_with_a_second_name_stay(home: Path) -> None:
    outside = home / "outside"
    outside.mkdir()
    for name in ("behind-a-link", "with-two-names"):
        (outside / name).touch()
    body = MAKE_A_RUN + (
        f"    os.symlink('{outside}', run / 'folder-link')\n"
        f"    os.symlink('{outside}/behind-a-link', run / 'file-link')\n"
        f"    os.link('{outside}/with-two-names', run / 'second-name')\n"
        f"    (run / 'others').touch()\n    os.chown(run / 'others', {OTHER}, {OTHER})"
    )

    code, output = run(home, body)

    assert code == 0, output
    found = owners(home)
    assert found["runs/first/others"] == (OTHER, OTHER)
    assert found["runs/first/plan.json"] == (CALLER, CALLER)
    for untouched in ("outside", "outside/behind-a-link", "outside/with-two-names"):
        assert found[untouched] == (0, 0), untouched


@pytest.mark.parametrize("environment", [{"SUDO_UID": "0", "SUDO_GID": "0"}, {"SUDO_UID": ""}])
def test_without_sudo_nothing_changes_hands(home: Path, environment: dict[str, str]) -> None:
    code, output = run(home, MAKE_A_RUN, **environment)

    assert code == 0, output
    assert owners(home)["runs/first/plan.json"] == (0, 0)
