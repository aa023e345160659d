"""Timers on the virtual clock: a sleep ends when it must, whatever else happens meanwhile."""

import json
from pathlib import Path
from typing import Any

import pytest

from netem.backends.guest import Guest
from netem.spool import LockedSpool
from tests.support import sleepers
from tests.support.scenario_trees import planned, star_scenario

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]

GRAIN = 256  # nanoseconds


def _found(directory: Path) -> dict[str, Any]:
    directory.mkdir()
    guest, spool = Guest("virtual", seed=1, module=sleepers.__name__), LockedSpool("sleepers")
    guest.prepare(planned(star_scenario(clients=1)), print)
    process = guest.start(directory, spool, directory / "guest.log", interactive=False)
    try:
        spool.remember_session(process.pid)
        process.wait(120)
        found: dict[str, Any] = json.loads((directory / "found.json").read_text())
    finally:
        guest.end(process)
        spool.remove()
    return found


def test_a_sleep_ends_at_the_first_reading_of_the_clock_that_is_not_before_its_end(
    tmp_path: Path,
) -> None:
    """Otherwise any harmless event would move all later ones by a grain of the clock."""
    for company, nanoseconds in _found(tmp_path / "guest")["late"].items():
        assert len(nanoseconds) == sleepers.SLEEPS
        # The least slack that Linux knows is one nanosecond: a timer ends that much after its end.
        assert min(nanoseconds) >= 1 and max(nanoseconds) < 1 + GRAIN, company


def test_no_system_call_takes_virtual_time_whether_it_succeeds_or_not(tmp_path: Path) -> None:
    """How often a node looks for a late result depends on the host; its clock must not."""
    for kind, nanoseconds in _found(tmp_path / "guest")["calls"].items():
        assert nanoseconds == 0, kind


def test_dates_and_random_numbers_of_the_guest_are_the_same_in_every_boot(tmp_path: Path) -> None:
    first, second = (_found(tmp_path / boot) for boot in ("first", "second"))

    assert first == second


def test_processes_that_wake_at_one_instant_run_in_the_order_in_which_they_went_to_sleep(
    tmp_path: Path,
) -> None:
    """Not by what each has done before: that depends on Python's cached bytecode, for instance."""
    assert _found(tmp_path / "guest")["ran"] == list(range(sleepers.SLEEPERS))
