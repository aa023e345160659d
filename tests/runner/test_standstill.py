"""Who stands still is found, and who is only slow is left alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from runner import standstill
from runner.standstill import Stalled, Standstill, Watched
from tests.support.lines import PATIENCE
from tests.support.waiting import wait_until

SLEEP = "import time; time.sleep(300)"
BUSY = "while True: pass"
LIMIT = 0.5


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "STOPPED_SECONDS", LIMIT)
    monkeypatch.setattr(standstill, "IDLE_SECONDS", LIMIT)


@pytest.fixture
def processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    words = {"sleeping": SLEEP, "busy": BUSY}
    made = {
        name: subprocess.Popen([sys.executable, "-c", program]) for name, program in words.items()
    }
    yield made
    for process in made.values():
        process.kill()
        process.wait()


def looked(watch: Standstill, process: int, work: str, seconds: float) -> Stalled | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for stalled in watch.look([Watched("the thing", process, work)]):
            return stalled
        time.sleep(0.05)
    return None


def test_a_stopped_process_is_found_whether_or_not_it_has_work(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    busy = processes["busy"].pid
    os.kill(busy, signal.SIGSTOP)

    found = looked(Standstill(), busy, "", PATIENCE)

    assert found is not None
    assert str(found).startswith(f"the thing (process {busy}) was stopped by a signal for ")


def test_one_that_goes_on_in_time_is_left_alone(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    busy, watch = processes["busy"].pid, Standstill()
    for _ in range(3):
        os.kill(busy, signal.SIGSTOP)
        assert looked(watch, busy, "job", 0.6 * LIMIT) is None
        os.kill(busy, signal.SIGCONT)
        assert looked(watch, busy, "job", 0.6 * LIMIT) is None


def test_an_idle_process_is_found_only_if_it_has_work(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    sleeping = processes["sleeping"].pid
    time.sleep(1)  # until it has started

    assert looked(Standstill(), sleeping, "", 3 * LIMIT) is None
    found = looked(Standstill(), sleeping, "job", PATIENCE)
    assert found is not None and "with work to do" in str(found)


def test_one_that_computes_is_left_alone(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    assert looked(Standstill(), processes["busy"].pid, "job", 4 * LIMIT) is None


def test_who_is_at_the_same_work_for_too_long_is_found_and_not_who_gets_on(
    processes: dict[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standstill, "LONGEST_SECONDS", LIMIT)
    busy, watch = processes["busy"].pid, Standstill()

    for number in range(4):
        assert looked(watch, busy, f"job {number}", 0.6 * LIMIT) is None
    found = looked(watch, busy, "job 4", PATIENCE)
    assert found is not None and "at the same work" in str(found)


def test_a_slow_start_up_lends_patience_to_the_idle_but_not_to_the_stopped(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    sleeping, watch = processes["sleeping"].pid, Standstill()
    time.sleep(1)
    watch.slower(1000.0)

    assert looked(watch, sleeping, "job", 3 * LIMIT) is None
    os.kill(sleeping, signal.SIGSTOP)
    assert looked(watch, sleeping, "job", PATIENCE) is not None


def test_the_time_in_which_we_were_stopped_ourselves_does_not_count(
    processes: dict[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standstill, "STOPPED_SECONDS", 30.0)
    now = [time.monotonic()]
    monkeypatch.setattr("runner.standstill.time.monotonic", lambda: now[0])
    busy, watch = processes["busy"].pid, Standstill()
    os.kill(busy, signal.SIGSTOP)
    wait_until(lambda: standstill._state(busy) is not None and standstill._state(busy)[0] == "T")  # type: ignore[index]

    now[0] += 3600.0  # a laptop's lid

    assert list(watch.look([Watched("the thing", busy, "job")])) == []


def test_a_process_that_has_ended_is_no_news() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()

    assert looked(Standstill(), ended.pid, "job", LIMIT) is None
