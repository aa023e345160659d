"""benchmarks.growth: every setting is a scenario, and lines say what takes most of the time."""

from pathlib import Path

import pytest

from benchmarks.growth import SERIES, Line, Setting, draw, short
from scenarios import loader

LINE = Line(10, kernel=1.0, nodes=3.0, workers=1.0, clock=4.0, emulated=2.0, frames=100_000)


@pytest.mark.parametrize("setting", [each for series in SERIES.values() for each in series])
def test_every_setting_is_a_scenario(setting: Setting) -> None:
    scenario = loader.check(setting.scenario())

    assert scenario.topology.client_count == setting.clients
    assert scenario.task.samples_per_client == 10


def test_a_line_says_what_takes_most_and_what_a_frame_costs() -> None:
    assert LINE.dominant == "nodes 60%"
    assert LINE.text().split()[-3:] == ["40.0", "nodes", "60%"]


def test_a_series_is_drawn_into_a_figure(tmp_path: Path) -> None:
    draw(tmp_path / "growth.png", {"clients": [LINE, LINE], "rate": [LINE]})

    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_are_written_as_people_say_them() -> None:
    assert [short(value) for value in (10, 1000, 61_706, 2_156_490, 11_182_400)] == [
        *("10", "1000", "62 k", "2.2 M", "11.2 M")
    ]
