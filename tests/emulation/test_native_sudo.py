"""Real native runs, started as sudo starts them: nothing in the caller's directories is root's."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from netem.spool import clear_abandoned
from tests.support import emulated
from tests.support.emulated import STAR
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.skipif(os.geteuid() != 0, reason="native runs need root"),
]

CALLER = 54321  # needs no entry among the users


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The caller's home and, at the same time, the directory that the command is given in."""
    os.chown(tmp_path, CALLER, CALLER)
    return tmp_path


def start(home: Path, *options: str) -> "subprocess.Popen[str]":
    """Start a native run with the environment that sudo gives, HOME kept."""
    words = emulated.command(STAR, home, "--backend", "native", *options)
    os.chown(home / "scenario-under-test.toml", CALLER, CALLER)
    at = words.index("--out")
    del words[at : at + 2]  # into runs/, as most runs
    return subprocess.Popen(
        words,
        env=emulated.environment_at(home) | {"SUDO_UID": str(CALLER), "SUDO_GID": str(CALLER)},
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def not_the_callers(home: Path) -> list[str]:
    return [str(path) for path in home.rglob("*") if path.lstat().st_uid != CALLER]


def test_records_figures_and_caches_of_a_run_are_the_callers(home: Path) -> None:
    process = start(home)
    output, _ = process.communicate(timeout=240)

    assert process.returncode == 0, output
    (run,) = (home / "runs").iterdir()
    assert (run / "report.html").exists() and (run / "logs" / "network.log").exists()
    assert any((home / ".cache" / "metronome").iterdir())
    assert not_the_callers(home) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_also_after_ctrl_c_and_kill_9(home: Path, how: signal.Signals) -> None:
    process = start(home, "--set", "protocol.rounds=500")
    wait_until(lambda: any(home.glob("runs/*/events.jsonl")))

    process.send_signal(how)
    process.communicate(timeout=60)

    if how == signal.SIGKILL:  # the helper goes on a little longer than the runner
        wait_until(lambda: not_the_callers(home) == [], seconds=20)
        clear_abandoned()  # the spool, as the next run would
    assert not_the_callers(home) == []
