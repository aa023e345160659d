"""A machine that does not let the guest's kernel trace its processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.project import ROOT
from netem.guest import tracing
from tests.support import emulated
from tests.support.emulated import TREE

REFUSING = [sys.executable, "-m", "tests.support.refusing", "ptrace"]

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="by number of system calls")


def test_where_it_is_allowed_nothing_is_said() -> None:
    assert tracing.refusal() == ""
    tracing.check()


def test_a_kernel_that_refuses_it_is_found_out() -> None:
    program = "from netem.guest import tracing; print(tracing.refusal())"
    command = [*REFUSING, sys.executable, "-c", program]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.stdout == "Operation not permitted\n", done.stderr


def test_a_run_is_then_refused_in_one_sentence_before_anything_starts(tmp_path: Path) -> None:
    command = [*REFUSING, *emulated.command(TREE, tmp_path, "--backend", "guest")]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 2, done.stderr
    assert "ptrace is refused here (Operation not permitted); allow it in the" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
