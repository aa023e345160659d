"""The same run through every door that shows it: the numbers must be the same."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from matplotlib.figure import Figure

from cli.sweep.directories import summary_of
from contracts.traffic import Flow
from reports.bottleneck import critical_path
from reports.comparison.rho import cell_points
from reports.comparison.runs import read_runs
from reports.figures.paper import write_figures
from reports.finish import RunFacts, finish
from reports.page.data import page_data
from reports.page.live_records import LiveRuns
from reports.records.run_records import RunRecords
from reports.records.summary import Summary
from reports.records.traffic import bytes_by_round
from tests.support import fake_cells
from tests.support.compared_runs import scenario
from tests.support.fake_run import COLUMNS, MODEL_BYTES, FakeRun, event
from tests.support.scenario_trees import planned, star_scenario

FACTS = RunFacts("fig2", "fedavg", "virtual", "guest", 1, 0.3, 9.0, [], None)
ROUNDS = 3


# The runs


def plain(run: Path) -> None:
    FakeRun(run, rounds=ROUNDS)


def solo(run: Path) -> None:
    """Two clients that train alone; client2 is the slower one."""
    run.mkdir()
    protocol = {"name": "solo", "rounds": ROUNDS, "local_epochs": 1}
    plan = planned(star_scenario(clients=2, protocol=protocol))
    (run / "plan.json").write_text(plan.to_json())
    events, lines = [], []
    for number in range(ROUNDS + 1):
        for place, name in enumerate(plan.tops):
            score = {"accuracy": 0.2 * number + 0.1 * place, "loss": 1.0 + place}
            lines.append({"round": number, "key": name, **score})
            if number:
                began, took = 2.0 * (number - 1), 1.0 + place
                events.append(event(name, "compute", number, began, began + took, number=number))
        if number:
            events.append(event("client2", "round", number, began, began + 2.0))
    write_lines(run / "events.jsonl", events)
    write_lines(run / "evaluations.jsonl", lines)
    (run / "links.csv").write_text(COLUMNS + "\n")


def on_cells(run: Path) -> None:
    lines = [
        fake_cells.line(number, key, [0.1 * number + 0.05 * place + 0.01 * c for c in range(6)])
        for number in range(ROUNDS + 1)
        for place, key in enumerate(fake_cells.KEYS)
    ]
    fake_cells.write_run(run, lines, rho=[0.7, 0.6], rounds=ROUNDS)


def beside_traffic(run: Path) -> None:
    """A third of the bytes up, and some of those down, are of a background flow."""
    fake = FakeRun(run, rounds=ROUNDS)
    flow = Flow(
        sender="client1",
        receiver="cloud",
        switch="wan",
        kind="constant",
        rate=1e6,
        on=None,
        off=None,
        start=0.0,
        until=None,
    )
    (run / "plan.json").write_text(dataclasses.replace(fake.plan, traffic=(flow,)).to_json())
    header, *rows = (run / "links.csv").read_text().splitlines()
    text = [f"{header},background_up,background_down", *(f"{row},90000,70" for row in rows)]
    (run / "links.csv").write_text("\n".join(text) + "\n")


def torn(run: Path) -> None:
    """Cut short in all that grows: what is left of each last line could pass for a whole one."""
    FakeRun(run, rounds=ROUNDS)
    later = event("client1", "upload", ROUNDS, 0.0, 0.1, number=ROUNDS, bytes=10**9)
    append(run / "events.jsonl", json.dumps(later))
    append(run / "evaluations.jsonl", json.dumps({"round": ROUNDS, "key": "global", "accuracy": 1}))
    append(run / "links.csv", f"{ROUNDS},client1-wan,client-cloud,{10**9},{10**9},1,1,7,7")


RUNS = [plain, solo, on_cells, beside_traffic, torn]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@dataclass(frozen=True)
class Finished:
    """A run, its summary, and what the report and the live view showed before its end."""

    directory: Path
    summary: Summary
    reported_before: dict[str, Any]
    live_before: dict[str, Any]


@pytest.fixture(scope="module", params=RUNS, ids=lambda write: write.__name__)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("every-door") / "run"
    request.param(directory)
    (directory / "scenario.toml").write_text(tomli_w.dumps(scenario()))
    (directory / "data.csv").write_text("client,class,samples\nclient1,0,7\nclient2,2,1\n")
    before = page_data([RunRecords.read(directory)]), live(directory)
    return Finished(directory, finish(directory, FACTS), *map(shown, before))


# The doors


def shown(page: dict[str, Any]) -> dict[str, Any]:
    """What the report page says of its one run, in a form that JSON does not change."""
    [found] = json.loads(json.dumps(page))["runs"]
    names = ("curve", "elapsed", "spent", "bottleneck", "network", "waterfall", "data")
    return {name: found[name] for name in names}


def embedded(report: Path) -> dict[str, Any]:
    html = report.read_text()
    start = html.index(">", html.index('<script id="records"')) + 1
    found: dict[str, Any] = json.loads(html[start : html.index("</script>", start)])
    return found


def live(run: Path) -> dict[str, Any]:
    runs = LiveRuns([run])
    runs.refresh()
    return runs.data


def carried(page: dict[str, Any]) -> int:
    """Bytes of the training on all links of the page's drawing."""
    return sum(link[7] + link[8] for link in page["network"]["links"])


def drawn(run: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path) -> None:
        figures[path.name] = figure

    monkeypatch.setattr("reports.figures.paper.save_for_print", keep)
    write_figures(run, [RunRecords.read(run)])
    return figures


def test_report_and_live_view_say_the_same_before_and_after_a_run_is_finished(
    run: Finished,
) -> None:
    assert run.live_before == run.reported_before
    assert shown(embedded(run.directory / "report.html")) == run.reported_before
    assert shown(page_data([RunRecords.read(run.directory)])) == run.reported_before
    assert shown(live(run.directory)) == run.reported_before


def test_report_summary_and_rounds_have_the_same_numbers(run: Finished) -> None:
    page, summary, records = run.reported_before, run.summary, RunRecords(run.directory)

    accuracies = [accuracy for _, _, accuracy, _ in page["curve"]]
    assert len(accuracies) == ROUNDS + 1 and None not in accuracies
    assert (accuracies[-1], max(accuracies)) == (summary.final_accuracy, summary.best_accuracy)
    assert page["elapsed"] == summary.elapsed_seconds
    assert page["bottleneck"] == json.loads(json.dumps(summary.bottleneck))
    assert carried(page) == (summary.bytes_on_wire or 0)
    written = records.written_rounds
    assert [row.accuracy for row in written] == pytest.approx(accuracies, abs=5e-7)
    assert [row.elapsed_seconds for row in written] == [row[1] for row in page["curve"]]
    assert [row.spent for row in written] == [row.spent for row in records.rounds]


def test_a_comparison_and_a_sweep_have_the_same_numbers(run: Finished) -> None:
    summary, records = run.summary, RunRecords(run.directory)

    [compared], left_out = read_runs([str(run.directory)])

    assert left_out == []
    own = [(row.round, row.elapsed_seconds) for row in records.rounds]
    assert [(point.round, point.seconds) for point in compared.points] == own
    accuracies = [row.accuracy for row in records.rounds]
    assert [p.accuracy for p in compared.points] == pytest.approx(accuracies, abs=5e-7)
    assert compared.elapsed == summary.elapsed_seconds
    assert compared.bytes_on_wire == summary.bytes_on_wire
    assert max(compared.carried.values()) == (summary.bytes_on_wire or 0)
    assert compared.time_by_part == summary.bottleneck.get("by_part", {})
    assert {str(rho): a for rho, a in compared.by_rho.items()} == summary.accuracy_by_rho
    assert summary_of(run.directory) == json.loads(json.dumps(summary.fields()))


def test_cells_at_every_rho_are_those_of_the_summary(run: Finished) -> None:
    records = RunRecords(run.directory)

    points = cell_points(records.written_cells) if records.cells else {}

    last = {str(rho): found[-1].accuracy for rho, found in points.items()}
    assert last == pytest.approx(run.summary.accuracy_by_rho, abs=2e-6)


def test_figures_have_the_same_numbers(run: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn(run.directory, monkeypatch)

    [line] = figures["accuracy-time"].axes[0].lines
    heights = np.asarray(line.get_ydata()).tolist()
    assert heights == [row[2] for row in run.reported_before["curve"]]
    assert heights[-1] == run.summary.final_accuracy
    bars = figures["bytes"].axes[0].patches if "bytes" in figures else []
    widths = sum(bar.get_width() for bar in bars)  # type: ignore[attr-defined]
    assert widths * 1e6 == pytest.approx(run.summary.bytes_on_wire or 0)


# What the doors rest upon


def test_the_accuracy_of_clients_that_train_alone_is_their_mean(tmp_path: Path) -> None:
    solo(tmp_path / "run")

    rows = RunRecords.read(tmp_path / "run").rounds

    assert [row.accuracy for row in rows] == pytest.approx([0.05, 0.25, 0.45, 0.65])


def test_background_bytes_are_nowhere_counted_as_the_trainings(tmp_path: Path) -> None:
    beside_traffic(tmp_path / "run")

    records = RunRecords(tmp_path / "run")

    links = 3 * ROUNDS
    whole = 2 * links * round(MODEL_BYTES * 1.04)
    assert records.traffic.wire.total() == whole - links * 90_070
    assert records.traffic.background.total() == links * 90_070
    first = records.link_totals["client1-wan"]
    assert (first.background_up, first.background_down) == (ROUNDS * 90_000, ROUNDS * 70)
    assert shown(page_data([records]))["network"]["links"][0][11:] == [ROUNDS * 90_000, ROUNDS * 70]


def test_a_line_counts_when_its_end_was_written(tmp_path: Path) -> None:
    torn(tmp_path / "torn")
    plain(tmp_path / "whole")

    found, expected = (RunRecords(tmp_path / which) for which in ("torn", "whole"))

    assert found.rounds == expected.rounds
    assert found.events == expected.events
    assert found.evaluations == expected.evaluations
    assert found.links == expected.links


def test_wherever_links_csv_is_cut_all_totals_agree(tmp_path: Path) -> None:
    plain(tmp_path)
    text = (tmp_path / "links.csv").read_text()
    for length in range(len(text) - 150, len(text)):
        (tmp_path / "links.csv").write_text(text[:length])
        records = RunRecords(tmp_path)
        total = records.traffic.wire.total()
        assert total == sum(own.up + own.down for own in records.link_totals.values())
        assert total == max(bytes_by_round(records.links).values())
        assert total % (2 * round(MODEL_BYTES * 1.04)) == 0, "a row counts as a whole or not at all"


def test_two_rows_that_were_run_together_cost_only_themselves(tmp_path: Path) -> None:
    """As when the disk was full in between."""
    plain(tmp_path)
    lines = (tmp_path / "links.csv").read_text().splitlines(keepends=True)
    whole = len(RunRecords(tmp_path).links)
    (tmp_path / "links.csv").write_text("".join([*lines[:-2], lines[-2][:30], lines[-1]]))

    assert len(RunRecords(tmp_path).links) == whole - 2


def test_critical_paths_are_walked_once_in_a_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain(tmp_path)
    walked, walk = [], critical_path.critical_path

    def counted(index: critical_path.PhaseIndex, round: Any) -> list[critical_path.Step]:
        walked.append(round.round)
        return walk(index, round)

    monkeypatch.setattr(critical_path, "critical_path", counted)

    finish(tmp_path, FACTS)

    assert walked == [1, 2, 3]
