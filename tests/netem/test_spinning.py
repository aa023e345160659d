"""Finding a guest process that spins, with processes of this machine in the place of a guest's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netem.guest import spinning
from netem.guest.spinning import SpinWatch
from tests.support.lines import PATIENCE

BUSY = "while True: pass"
IDLE = "import time; time.sleep(300)"
LIMIT = 1.5

# The guest's processes are children of its kernel, which is the only child of its guard.
KERNEL = """
import subprocess, sys, time
for program in sys.argv[1:]:
    subprocess.Popen([sys.executable, "-c", program])
print("up", flush=True)
time.sleep(300)
"""
GUARD = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


class Guests:
    """Starts guests, all on one core, and ends them with all their processes."""

    def __init__(self, folder: Path) -> None:
        self._log, self._console = folder / "network.log", folder / "no console"
        self._log.write_text("CPU: 0 PID: 31 Comm: client7 Not tainted")
        self._core = min(os.sched_getaffinity(0))
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *programs: str) -> SpinWatch:
        guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, KERNEL, *programs],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {self._core}),
        )
        self._started.append(guard)
        assert guard.stdout is not None and guard.stdout.readline() == "up\n"
        return SpinWatch(guard.pid, self._console, self._log)

    def end(self) -> None:
        for guard in self._started:
            os.killpg(guard.pid, signal.SIGKILL)
            guard.communicate()


@pytest.fixture
def guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guests]:
    monkeypatch.setattr(spinning, "_LOOK_SECONDS", 0.2)
    monkeypatch.setattr(spinning, "SHORTEST_SECONDS", LIMIT)
    made = Guests(tmp_path)
    yield made
    made.end()


def found_within(watch: SpinWatch, seconds: float) -> str | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if name := watch.spinning_process():
            return name
        time.sleep(0.02)
    return None


def test_a_process_that_spins_is_found_and_named_by_the_kernels_last_words(guests: Guests) -> None:
    watch = guests.start(BUSY, IDLE)
    watch.training_began(0.0)

    assert found_within(watch, PATIENCE) == "client7"


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this kernel does not count the waiting"
)
def test_one_that_spins_on_a_busy_core_is_found_too(guests: Guests) -> None:
    guests.start(BUSY, BUSY, BUSY)
    watch = guests.start(BUSY)
    watch.training_began(0.0)

    assert found_within(watch, PATIENCE) == "client7"


@pytest.mark.parametrize("programs", [(IDLE, IDLE), (BUSY, BUSY)])
def test_waiting_is_no_spinning_nor_is_work_that_several_do(
    guests: Guests, programs: tuple[str, ...]
) -> None:
    watch = guests.start(*programs)
    watch.training_began(0.0)

    assert found_within(watch, 2 * LIMIT) is None


def test_a_start_up_may_keep_one_process_busy_for_longer_but_not_for_ever(
    guests: Guests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spinning, "START_UP_SECONDS", 2 * LIMIT)
    watch = guests.start(BUSY)

    assert found_within(watch, 1.5 * LIMIT) is None
    assert found_within(watch, PATIENCE) == "client7"


def test_news_from_the_guest_begins_the_count_anew(guests: Guests) -> None:
    watch = guests.start(BUSY)
    watch.training_began(0.0)

    for _ in range(3):
        assert found_within(watch, 0.7 * LIMIT) is None
        watch.reset()


def test_the_slower_the_start_up_was_the_longer_a_process_may_compute(guests: Guests) -> None:
    watch = guests.start(IDLE)

    watch.training_began(LIMIT)

    assert watch.limit == 10 * LIMIT
