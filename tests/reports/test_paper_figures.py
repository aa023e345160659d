"""Figures for papers: which ones there are, as what, and that they come out the same every time."""

from pathlib import Path

import pytest

from cli.commands import main
from contracts.errors import BadInput
from reports.figures.colours import COLOURS, PHASE_COLOURS
from reports.figures.paper import write_figures
from reports.records.run_records import RunRecords
from tests.support.fake_run import FakeRun

NAMES = ["accuracy-time", "accuracy-rounds", "time-shares", "bytes", "waterfall"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    FakeRun(tmp_path / "run", rounds=3)
    return tmp_path / "run"


def test_every_chart_is_there_as_svg_and_as_pdf_the_same_every_time(run: Path) -> None:
    assert main(["figures", str(run)]) == 0
    assert main(["figures", str(run), "--out", str(run / "again")]) == 0

    files = {path.name: path.read_bytes() for path in (run / "figures").iterdir()}
    assert set(files) == {f"{name}.{ending}" for name in NAMES for ending in ("svg", "pdf")}
    assert files == {path.name: path.read_bytes() for path in (run / "again").iterdir()}
    assert b"elapsed time (s)" in files["accuracy-time.svg"]  # text, not shapes


def test_several_runs_share_figures_but_for_their_waterfalls(run: Path, tmp_path: Path) -> None:
    FakeRun(tmp_path / "other", rounds=2)
    out = tmp_path / "out"

    main(["figures", str(run), str(tmp_path / "other"), "--out", str(out), "--round", "2"])

    names = {path.stem for path in out.iterdir()}
    assert names == {*NAMES[:-1], "waterfall-run", "waterfall-other"}
    assert "round 2 began" in (out / "waterfall-run.svg").read_text()
    assert "other" in (out / "accuracy-time.svg").read_text()


def test_a_round_that_was_not_finished_cannot_be_drawn(run: Path) -> None:
    with pytest.raises(BadInput, match=r"--round 9: .*finished no such round"):
        main(["figures", str(run), "--round", "9"])


def test_a_run_that_finished_nothing_has_only_what_there_is(tmp_path: Path) -> None:
    FakeRun(tmp_path, rounds=0).write_events([])

    assert write_figures(tmp_path, [RunRecords.read(tmp_path)]) == NAMES[:2]


def test_the_page_has_the_figures_colours() -> None:
    style = (Path("reports/page/style.css")).read_text()
    light = style.partition("@media")[0]

    assert all(f"--c{place}: {colour};" in light for place, colour in enumerate(COLOURS))
    assert all(f"--{phase}: {colour};" in light for phase, colour in PHASE_COLOURS.items())
