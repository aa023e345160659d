"""Rules that hold for the files of the repository as a whole."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import check
from contracts.project import ROOT

NOT_OURS = {".git", ".venv", ".vagrant", ".hypothesis", "__pycache__"}
OUTPUT = {ROOT / "runs", ROOT / "sweeps"}
# Put together here so that this file does not name them itself.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("npmjs", "org"),
        ("anaconda", "org"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("rubygems", "org"),
    )
]


def _own_files() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in NOT_OURS
            and not name.endswith("_cache")
            and Path(folder, name) not in OUTPUT
        ]
        yield from (Path(folder, name) for name in files)


def test_no_file_names_a_package_registry() -> None:
    pattern = re.compile("|".join(map(re.escape, REGISTRIES)).encode())

    naming = [str(path) for path in _own_files() if pattern.search(path.read_bytes())]

    assert naming == []


def test_every_requirement_is_pinned_exactly() -> None:
    files = ("requirements.txt", "requirements-dev.txt")
    lines = [line for file in files for line in (ROOT / file).read_text().splitlines()]
    requirements = [line for line in lines if line and not line.startswith("#")]

    loose = [line for line in requirements if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]

    assert loose == []
    assert len(requirements) == len({line.split("==")[0].lower() for line in requirements})


def test_what_the_script_installs_by_itself_is_pinned_exactly() -> None:
    pins = re.findall(r"^\w+=(\w+)==([\w.]+)$", (ROOT / "metronome").read_text(), re.MULTILINE)

    assert [name for name, _ in pins] == ["torchvision", "uv"]


def test_pre_commit_runs_what_the_gate_runs_before_its_tests_and_fetches_nothing() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text()

    hooks = [line.rstrip("'") for line in re.findall(r"bin/python\" -m (.*)$", text, re.MULTILINE)]
    assert hooks == [
        " ".join(command) for _, command in check.steps(fast=True) if command[0] != "pytest"
    ]
    assert re.findall(r"repo: (\S+)", text) == ["local"]
    assert "://" not in text


@pytest.mark.parametrize("script", ["metronome", ".ci/run"])
def test_script_is_executable_and_parses(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True, timeout=10)


def test_vagrantfile_is_valid() -> None:
    if shutil.which("vagrant"):
        command = ["vagrant", "validate", "--ignore-provider"]
    else:
        command = ["ruby", "-c", "Vagrantfile"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert checked.returncode == 0, checked.stdout + checked.stderr
