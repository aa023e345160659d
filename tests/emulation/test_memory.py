"""The guest's memory: what a process may use does not depend on how the host keeps it."""

from pathlib import Path

import pytest

from netem.backends.guest import Guest
from netem.spool import LockedSpool
from tests.support import scattered
from tests.support.scenario_trees import planned, star_scenario

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]

CLIENTS = 60  # as many as need the memory that two such processes do


def test_a_process_may_need_more_mappings_than_the_host_allows_it(tmp_path: Path) -> None:
    guest, spool = Guest("virtual", seed=1, module=scattered.__name__), LockedSpool("scattered")
    guest.prepare(planned(star_scenario(clients=CLIENTS)), print)
    process = guest.start(tmp_path, spool, tmp_path / "guest.log", interactive=False)
    try:
        spool.remember_session(process.pid)
        process.wait(280)
    finally:
        guest.end(process)
        spool.remove()

    log = (tmp_path / "guest.log").read_text()
    assert (tmp_path / "ended.txt").read_text() == "0", log
