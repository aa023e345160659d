"""What the guest's kernel leaves in its stubs, or shows to processes, is right at every moment."""

import json
from pathlib import Path

import pytest

from netem.backends.guest import Guest
from netem.spool import LockedSpool
from tests.support import state_keepers
from tests.support.scenario_trees import planned, star_scenario

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]


def test_threads_keep_their_registers_and_clocks_read_what_the_kernel_says(tmp_path: Path) -> None:
    name = state_keepers.__name__
    guest, spool = Guest("virtual", seed=1, module=name), LockedSpool("keepers")
    guest.prepare(planned(star_scenario(clients=1)), print)
    process = guest.start(tmp_path, spool, tmp_path / "guest.log", interactive=False)
    try:
        spool.remember_session(process.pid)
        process.wait(120)
        found = json.loads((tmp_path / "found.json").read_text())
    finally:
        guest.end(process)
        spool.remove()

    assert set(found["clocks"]) == {0}
    assert found["threads"] == [True] * state_keepers.TURNS * len(state_keepers.ROUNDINGS)
    assert found["child"] == [0x800, 0x800]
    assert found["signal"] == [0x400, 1]
    assert found["faults"] == sum(range(1, (1 << 18) + 1))
