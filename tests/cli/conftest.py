"""What several tests of the command line share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stand_in_machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    # Not tmp_path: pytest makes that private, and the script runs as another user.
    place = Path(tempfile.mkdtemp(prefix="metronome-test-"))
    place.chmod(0o755)
    machine = Machine(place)
    yield machine
    machine.end()
    shutil.rmtree(place)
