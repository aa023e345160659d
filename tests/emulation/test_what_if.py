"""What a run says a faster link would bring, compared with a run over such a link."""

from pathlib import Path

import pytest

from tests.support import emulated
from tests.support.emulated import TREE

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]

SCENARIO = TREE.replace('rate = "20mbit", delay = "5ms"', 'rate = "4mbit", delay = "10ms"')


def test_twice_the_rate_takes_what_the_first_run_said_it_would(tmp_path: Path) -> None:
    slow = emulated.run(SCENARIO, tmp_path / "slow", "--clock", "virtual")
    rate = ("--set", "links.edge-cloud.rate=8mbit")
    fast = emulated.run(SCENARIO, tmp_path / "fast", "--clock", "virtual", *rate)

    assert slow.code == fast.code == 0, slow.output + fast.output
    found = slow.summary["bottleneck"]
    both_ways = {"rate_up": 2.0, "rate_down": 2.0}
    said = next(what for what in found["what_if"] if what["factors"] == both_ways)
    assert "the institutions' links to the cloud; at 8 Mbit/s both ways" in found["sentence"]
    assert said["saving"] > 0.2
    assert said["elapsed_seconds"] == pytest.approx(fast.summary["elapsed_seconds"], rel=0.1)
