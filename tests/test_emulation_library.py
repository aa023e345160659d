"""Every scenario of the library really runs, at a small size."""

from pathlib import Path

import pytest

from scenarios import loader
from tests import emulated

pytestmark = pytest.mark.emulation

SMALL = ("protocol.rounds=1", "task.samples_per_client=20")


@pytest.mark.parametrize("name", loader.library())
def test_a_scenario_of_the_library_runs(tmp_path: Path, name: str) -> None:
    changes = [word for change in SMALL for word in ("--set", change)]

    outcome = emulated.run(loader.library()[name].read_text(), tmp_path, *changes)

    assert outcome.code == 0, outcome.output
    assert outcome.summary["rounds"] == 1
    assert outcome.summary["final_accuracy"] is not None
