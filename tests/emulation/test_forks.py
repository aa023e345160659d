"""Forks in the guest: pages that are written to afterwards are copied at once, and soon."""

import json
from pathlib import Path
from typing import Any

import pytest

from netem.backends.guest import Guest
from netem.spool import LockedSpool
from tests.support import forkers
from tests.support.scenario_trees import planned, star_scenario

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory: Path = tmp_path_factory.mktemp("guest")
    guest, spool = Guest("virtual", seed=1, module=forkers.__name__), LockedSpool("forkers")
    guest.prepare(planned(star_scenario(clients=1)), print)
    process = guest.start(directory, spool, directory / "guest.log", interactive=False)
    try:
        spool.remember_session(process.pid)
        process.wait(120)
        read: dict[str, Any] = json.loads((directory / "found.json").read_text())
    finally:
        guest.end(process)
        spool.remove()
    return read


def test_what_a_child_writes_is_its_own(found: dict[str, Any]) -> None:
    assert found["parent_has"] == "p" * forkers.PAGES
    for had, _ in found["children"]:
        assert had == "p" * forkers.PAGES


def test_children_after_the_first_take_no_page_fault_for_what_that_one_wrote(
    found: dict[str, Any],
) -> None:
    if not found["kernel"].startswith("6.1."):
        pytest.skip("the kernel's piece fork-copies has no variant for this version yet")
    first, *others = (faults for _, faults in found["children"])

    assert first > forkers.PAGES
    for faults in others:
        assert faults < first - 0.9 * forkers.PAGES


def test_a_rehearsal_takes_no_virtual_time(found: dict[str, Any]) -> None:
    """Otherwise whatever the kernel does at certain times would come at others in a run."""
    assert found["rehearsal_nanoseconds"] == 0
