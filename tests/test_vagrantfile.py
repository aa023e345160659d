"""What the Vagrantfile asks for, and what its script does to an earlier provisioning."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from contracts.project import ROOT

READER = ROOT / "tests" / "support" / "read_vagrantfile.rb"


@pytest.fixture(scope="module")
def asked() -> dict[str, Any]:
    return _read({})


def _read(environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        ["ruby", READER, ROOT / "Vagrantfile"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _scripts(asked: dict[str, Any]) -> dict[str, str]:
    return {p["name"]: p["inline"] for p in asked["provisioners"] if p["kind"] == "shell"}


def _provision(asked: dict[str, Any], home: Path) -> None:
    """Do what provisioning does, with a small tree in place of the real one."""
    for provisioner in asked["provisioners"]:
        if provisioner["kind"] == "shell":
            command = ["bash", "-c", provisioner["inline"]]
            subprocess.run(command, env=os.environ | {"HOME": str(home)}, check=True, timeout=60)
            continue
        target = home / provisioner["destination"]
        target.parent.mkdir(exist_ok=True)
        if target.name == "metronome":
            target.write_text('#!/bin/sh\r\necho "$@" > "$HOME/called-with"\r\n', newline="")
        elif target.name == ".ci":
            target.mkdir()
            (target / "run").write_text("#!/bin/sh\r\n", newline="")
        elif Path(provisioner["source"]).is_dir():
            target.mkdir()
            (target / "image").write_bytes(b"\0binary\r\n")
        else:
            target.write_text("some\r\nlines\r\n", newline="")


def test_only_providers_that_have_the_box_are_named_and_all_have_the_size(
    asked: dict[str, Any],
) -> None:
    assert asked["settings"]["box"] == "debian/bookworm64"
    assert set(asked["providers"]) == {"virtualbox", "libvirt"}
    other = _read({"METRONOME_CPUS": "4", "METRONOME_MEMORY": "9000", "METRONOME_BOX": "some/box"})
    assert other["settings"]["box"] == "some/box"
    assert list(other["providers"].values()) == [{"cpus": 4, "memory": 9000}] * 2


def test_all_of_the_tree_is_copied_but_what_belongs_to_this_machine(asked: dict[str, Any]) -> None:
    copied = {p["destination"] for p in asked["provisioners"] if p["kind"] == "file"}

    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=30
    ).stdout.splitlines()
    tops = {line.partition("/")[0] for line in tracked} or {"metronome", "cli", ".ci"}
    assert copied >= {f"incoming/{name}" for name in tops}
    assert not copied & {f"incoming/{name}" for name in (".git", ".venv", "runs", "sweeps")}


def test_its_scripts_parse(asked: dict[str, Any]) -> None:
    for script in _scripts(asked).values():
        subprocess.run(["bash", "-n", "-c", script], check=True, timeout=10)


def test_a_first_provisioning_sets_up_a_tree_with_unix_line_ends(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    _provision(asked, tmp_path)

    tree = tmp_path / "metronome"
    assert (tmp_path / "called-with").read_text() == "doctor\n"
    assert (tree / "README.md").read_bytes() == b"some\nlines\n"
    assert (tree / "docs" / "image").read_bytes() == b"\0binary\r\n", "a binary file has changed"
    assert os.access(tree / ".ci" / "run", os.X_OK)
    assert not (tmp_path / "incoming").exists()


def test_a_later_one_keeps_environment_and_runs_and_nothing_else(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    tree = tmp_path / "metronome"
    kept = ["runs/first/summary.json", "sweeps/one/x.toml", ".venv/bin/python", ".venv.lock"]
    gone = ["old_module.py", "cli/old_module.py", "old/runs/x", ".hidden"]
    for name in (*kept, *gone):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()

    _provision(asked, tmp_path)

    assert [name for name in kept if not (tree / name).exists()] == []
    assert [name for name in gone if (tree / name).exists()] == []
