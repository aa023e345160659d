"""The report page in a browser: it opens without complaint, and its controls do what they say."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.provenance import Provenance
from contracts.schema import SCHEMA
from reports.page.data import page_data
from reports.page.html import report_html
from reports.records.run_records import RunRecords
from tests.support.browser import Page, browser
from tests.support.fake_run import FakeRun, event
from tests.support.large_run import write_large_run

VIEW = "[Number(waterfall.dataset.from), Number(waterfall.dataset.to)]"
FOCUSED = "document.activeElement.id || document.activeElement.value"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with everything a page can show."""
    folder = tmp_path_factory.mktemp("one")
    FakeRun(folder / "run", rounds=12)
    (folder / "run" / "data.csv").write_text("client,class,samples\nclient1,0,7\nclient2,1,9\n")
    with (folder / "run" / "events.jsonl").open("a") as file:
        lost = event("client1", "outage", 2, 25.0, 30.0)
        decided = event(
            "cloud", "aggregate", 13, 250, 251, local_round=13, weights={"client1": 0.5}
        )
        file.write(f"{json.dumps(lost)}\n{json.dumps(decided)}\n")
    (folder / "run" / "scenario.toml").write_text('name = "</script><b>bold</b>"\n')
    return _written(folder / "report.html", folder / "run")


def _written(path: Path, *runs: Path) -> Path:
    path.write_text(report_html(page_data([RunRecords.read(run) for run in runs])))
    return path


def test_it_opens_without_complaint_and_shows_every_section(page: Page, one: Path) -> None:
    page.open(one)

    assert page.complaints == []
    assert page.run("document.getElementById('sentence').textContent").startswith(
        "80 % of the time"
    )
    assert page.run("[...document.querySelectorAll('main > section')].map(s => s.id)") == [
        *("result", "accuracy", "time", "round", "network", "data", "decisions", "timeline"),
        "scenario",
    ]


def test_it_asks_for_nothing_from_anywhere(page: Page, one: Path) -> None:
    page.open(one)

    assert page.run("performance.getEntriesByType('resource').length") == 0


def test_names_in_records_cannot_become_markup(page: Page, one: Path) -> None:
    page.open(one)

    assert page.run("document.querySelector('#scenario b')") is None
    assert "</script><b>bold</b>" in page.run("document.querySelector('#scenario').textContent")


def test_it_says_what_made_the_run(page: Page, tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run", rounds=2)
    made = Provenance(
        *(SCHEMA, "1.2.3", "abc123", True, "6.6 (key)", "2.8.0", "lenet5.c", "a CPU", "3.13.5 (x)")
    )
    summary = {"name": "made", "provenance": dataclasses.asdict(made)}
    (run.directory / "summary.json").write_text(json.dumps(summary))
    page.open(_written(tmp_path / "report.html", run.directory))

    rows = "[...document.querySelectorAll('#provenance tbody tr')]"
    assert page.run(f"{rows}.map(r => [...r.cells].map(c => c.textContent))") == [
        ["version", "1.2.3"],
        ["commit", "abc123, with uncommitted changes"],
        ["kernel", "6.6 (key)"],
        ["engine", "lenet5.c"],
        ["torch", "2.8.0"],
        ["processor", "a CPU"],
        ["Python", "3.13.5 (x)"],
        ["schema of the records", str(SCHEMA)],
    ]
    assert page.complaints == []


def test_a_run_that_stopped_at_its_target_is_not_shown_as_cut_short(
    page: Page, tmp_path: Path
) -> None:
    run = FakeRun(tmp_path / "run", rounds=2)
    (run.directory / "summary.json").write_text(json.dumps({"stopped_at_target": True}))
    page.open(_written(tmp_path / "report.html", run.directory))

    assert "2 rounds, stopped at the target" in page.run(
        "document.querySelector('.figures').textContent"
    )


def test_records_that_a_live_page_refuses_are_told_on_it(page: Page, one: Path) -> None:
    page.open(one)

    page.run("metronome.show({ runs: [], refused: ['run: its records are newer'] })")

    shown = page.run("document.querySelector('#main .refused').textContent")
    assert shown == "run: its records are newer"


def test_the_switch_changes_the_accuracys_axis(page: Page, one: Path) -> None:
    page.open(one)
    labels = "document.querySelector('#accuracy-chart').textContent"
    assert "elapsed time (s)" in page.run(labels)

    page.click("#axis input[value=rounds]")
    assert "global rounds" in page.run(labels)
    page.press("ArrowLeft")
    assert "elapsed time (s)" in page.run(labels)


def test_zooming_in_and_out_changes_what_the_waterfall_shows(page: Page, one: Path) -> None:
    page.open(one)
    whole = page.run(VIEW)
    assert whole == [0, 20_000_000]

    page.click("#zoom-in")
    assert page.run(VIEW) == [5_000_000, 15_000_000]
    page.run("waterfall.focus()")
    page.press("ArrowRight")
    assert page.run(VIEW) == [7_000_000, 17_000_000]
    page.press("+")
    assert page.run(VIEW) == [8_875_000, 15_125_000]
    page.press("0")
    assert page.run(VIEW) == whole
    assert page.run("document.getElementById('zoom-out').disabled") is True


def test_the_round_picker_picks_rounds_by_mouse_and_by_keys(page: Page, one: Path) -> None:
    page.open(one)
    picked = "waterfall.dataset.round + ' ' + document.getElementById('round-words').textContent"
    assert page.run(picked) == "2 Round 2: 20.0 s"

    page.click("#round-after")
    assert page.run(picked) == "3 Round 3: 20.0 s"
    page.run("document.getElementById('round-picker').focus()")
    page.press("ArrowRight")
    page.press("ArrowRight")
    assert page.run(picked) == "5 Round 5: 20.0 s"
    page.click("#round-before")
    assert page.run(picked) == "4 Round 4: 20.0 s"


def test_only_the_critical_paths_nodes_are_shown_when_asked_for(page: Page, one: Path) -> None:
    page.open(one)
    assert page.run("waterfall.dataset.rows") == "4"

    page.click("#rows input[value=path]")

    assert page.run("waterfall.dataset.rows") == "2"  # client2 and the cloud


def test_every_control_can_be_reached_by_tab(page: Page, one: Path) -> None:
    page.open(one)
    reached = []
    for _ in range(40):
        page.press("Tab")
        reached.append(page.run(FOCUSED))

    wanted = ["time", "round-before", "round-picker", "zoom-in", "all", "waterfall", "command"]
    assert [place for place in dict.fromkeys(reached) if place in wanted] == wanted


def test_several_runs_share_the_curves_and_one_of_them_is_shown(page: Page, tmp_path: Path) -> None:
    for name, rounds in (("first", 3), ("second", 5)):
        FakeRun(tmp_path / name, rounds=rounds)
    page.open(_written(tmp_path / "report.html", tmp_path / "first", tmp_path / "second"))
    assert page.run("document.querySelectorAll('#accuracy-chart .curve').length") == 2
    assert page.run("document.querySelector('#result h2').textContent") == "first"

    page.click("#runs tr:nth-child(2) button")

    assert page.run("document.querySelector('#result h2').textContent") == "second"
    assert page.complaints == []


def test_fresh_data_is_shown_without_losing_what_was_chosen(page: Page, one: Path) -> None:
    page.open(one)
    page.click("#round-after")
    page.click("#axis input[value=rounds]")

    page.run("metronome.show(JSON.parse(document.getElementById('records').textContent))")

    assert page.run("waterfall.dataset.round") == "3"
    assert page.run("document.getElementById('accuracy-chart').dataset.axis") == "rounds"


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_in_light_and_in_dark(page: Page, one: Path, dark: bool) -> None:
    page.open(one, width=390, height=844, dark=dark)

    assert page.run("document.documentElement.scrollWidth") == 390
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(20, 21, 24)") is dark


def _processor_seconds(page: Page, path: Path) -> float:
    """What opening the page takes, without the browser's own start."""
    before = page.processor_seconds()
    page.open(path)
    return page.processor_seconds() - before


def test_200_nodes_and_100_rounds_open_in_time_and_are_not_large(
    page: Page, tmp_path: Path
) -> None:
    write_large_run(tmp_path / "run")
    path = _written(tmp_path / "report.html", tmp_path / "run")

    seconds = min(_processor_seconds(page, path) for _ in range(3))  # others' load only adds

    assert path.stat().st_size < 8e6
    assert page.run("waterfall.dataset.rows") == "200"
    assert page.complaints == []
    assert seconds < 1.5
