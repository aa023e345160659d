"""`python3 -m netem.guest.kernel`: the way in for the set-up, which has no packages yet."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.project import ROOT


def _run(path: str, cache: Path, *python: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": ""}
    # Isolated and without site-packages, as the system's Python is before anything is installed.
    command = [sys.executable, "-I", "-S", *python]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


_MODULE = "import runpy, sys; sys.path.insert(0, '.'); runpy.run_module({name!r}, run_name={as_!r})"


_MODULES = ("kernel", "kernel_build", "kernel_store", "sources", "patches", "configuration")


@pytest.mark.parametrize("name", _MODULES)
def test_building_a_kernel_needs_no_package(tmp_path: Path, name: str) -> None:
    done = _run(
        os.environ["PATH"],
        tmp_path,
        "-c",
        _MODULE.format(name=f"netem.guest.{name}", as_="imported"),
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_compiler_it_ends_with_2_and_one_sentence(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("make", "strip", "flex", "bison", "bc", "patch", "xz"):
        (tools / name).symlink_to(shutil.which("true") or "/bin/true")

    code = _MODULE.format(name="netem.guest.kernel", as_="__main__")
    done = _run(str(tools), tmp_path / "cache", "-c", code)

    assert done.returncode == 2
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("metronome: the guest's kernel: building it needs gcc")
    assert "sudo apt-get install -y gcc" in sentence
