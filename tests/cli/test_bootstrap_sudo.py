"""sudo ./metronome in a user's tree leaves nothing there that belongs to root."""

import os
from pathlib import Path

import pytest

from tests.support.stand_in_machine import NOBODY, Machine

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")


def _sudo(machine: Machine, *arguments: str, **settings: str) -> None:
    home = machine.place / "home"
    home.mkdir(exist_ok=True)
    os.chown(home, NOBODY, NOBODY)
    identity = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "HOME": str(home)}
    ran = machine.run(*arguments, **identity, **settings)
    assert ran.stdout.startswith("told to:"), ran.stderr


def _not_the_users(machine: Machine) -> list[Path]:
    folders = (machine.tree, machine.place / "home")
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    return [path for path in paths if path.lstat().st_uid != NOBODY]


@pytest.mark.parametrize("offered", ["2.13.0+cpu", "2.13.0"])
def test_all_that_the_set_up_makes_is_the_users(machine: Machine, offered: str) -> None:
    machine.remove("mininet")

    _sudo(machine, "run", PIP_OFFERS=offered)

    assert machine.venv.is_dir()
    assert _not_the_users(machine) == []


def test_the_command_keeps_its_own_things_at_roots_home(machine: Machine) -> None:
    _sudo(machine, "list")

    environment = (machine.place / "environment").read_text()
    assert environment == f"HOME={Path('~root').expanduser()} bytecode=1\n"


def test_an_environment_that_root_made_before_is_made_anew_for_the_user(machine: Machine) -> None:
    machine.run("list", SUDO_UID="0")
    assert machine.venv.lstat().st_uid == 0

    with (machine.tree / "requirements.txt").open("a") as pins:
        pins.write("another==1.0\n")
    _sudo(machine, "list")

    assert [path for path in _not_the_users(machine) if path.name != ".venv.lock"] == []


def test_an_environment_outside_the_users_folders_stays_roots(machine: Machine) -> None:
    elsewhere = machine.place / "roots"
    elsewhere.mkdir()

    _sudo(machine, "list", METRONOME_VENV=str(elsewhere / "venv"))

    assert (elsewhere / "venv").lstat().st_uid == 0
