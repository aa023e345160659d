"""What goes into a report, and what the command writes where."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands import main
from contracts.errors import BadInput
from reports.page.data import page_data
from reports.page.html import report_html
from reports.records.run_records import RunRecords
from tests.support.fake_run import MODEL_BYTES, FakeRun, event


def _data(*directories: Path) -> dict[str, Any]:
    return page_data([RunRecords.read(directory) for directory in directories])


def _embedded(html: str) -> dict[str, Any]:
    start = html.index(">", html.index('<script id="records"')) + 1
    found: dict[str, Any] = json.loads(html[start : html.index("</script>", start)])
    return found


def test_a_bar_is_node_phase_start_length_and_peer_in_microseconds(tmp_path: Path) -> None:
    FakeRun(tmp_path, rounds=2)

    found = _data(tmp_path)["runs"][0]["waterfall"]

    number, start, length, bars, path = found["rounds"][1]
    assert (number, start, length) == (2, 20_000_000, 20_000_000)
    # client1: download, compute, upload; the cloud is node 0.
    assert bars[:5] == [1, found["phases"].index("download"), 0, 1_000_000, 0]
    assert len(bars) == 5 * (3 * 3 + 1)
    assert path[:4] == [2, found["phases"].index("download"), 0, 1_000_000]  # client2's


def test_a_round_that_was_not_finished_is_shown_without_a_length(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=1)
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    run.write_events(
        [*lines, event("client1", "download", 2, 21.0, 22.0, local_round=2, peer="cloud")]
    )

    rounds = _data(tmp_path)["runs"][0]["waterfall"]["rounds"]

    assert rounds[1][:3] == [2, 21_000_000, None]


def test_with_too_many_bars_some_rounds_are_left_out_but_never_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeRun(tmp_path, rounds=12)  # of 10 bars each
    monkeypatch.setattr("reports.page.data._MOST_BARS", 45)

    found = _data(tmp_path)["runs"][0]["waterfall"]

    assert [row[0] for row in found["rounds"]] == [1, 5, 8, 12]
    assert found["of"] == 12


def test_a_link_is_described_with_what_it_carried_after_the_joining(tmp_path: Path) -> None:
    FakeRun(tmp_path, rounds=2)

    links = _data(tmp_path)["runs"][0]["network"]["links"]

    each = 2 * round(MODEL_BYTES * 1.04)
    up, down = [10e6, 0.05, 0.0, 0.0], [30e6, 0.05, 0.0, 0.0]
    assert links[0] == ["client1-wan", 1, 0, "client-cloud", "lte", up, down, each, each, 2, 0]


def test_nothing_in_the_records_can_end_the_pages_script(tmp_path: Path) -> None:
    FakeRun(tmp_path, rounds=1)
    (tmp_path / "scenario.toml").write_text("# </script><script>alert(1)</script> & @@DATA@@")

    html = report_html(_data(tmp_path))

    assert html.count("</script>") == 2
    assert _embedded(html)["runs"][0]["scenario"].startswith("# </script><script>alert(1)")


def test_a_loss_that_is_no_number_does_not_spoil_the_page(tmp_path: Path) -> None:
    FakeRun(tmp_path, rounds=1)
    line = {"round": 1, "key": "global", "accuracy": 0.1, "loss": float("nan")}
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(line) + "\n")

    found = _embedded(report_html(_data(tmp_path)))

    assert found["runs"][0]["curve"][1] == [1, 20.0, 0.1, None]


def test_what_happened_is_told_in_words(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=1)
    ways = {"from": ["edge1"], "to": ["edge2", "edge3"], "link_seconds": 0.05}
    run.write_events(
        [
            event("client1", "handover", 1, 1.0, 1.05, **ways),
            event("client2", "outage", 1, 2.0, 5.0),
            event("cloud", "deadline", 1, 9.0, 9.0, missing=["client1", "client2"]),
        ]
    )

    rows = _data(tmp_path)["runs"][0]["timeline"]["rows"]

    assert [(row[2], row[3], row[4]) for row in rows] == [
        ("handover", "client1", "from edge1 to edge2 and edge3, 0.05 s without a link"),
        ("outage", "client2", "no link for 3.0 s"),
        ("deadline", "cloud", "without an update from client1, client2"),
    ]


def test_data_and_command_are_those_of_the_run(tmp_path: Path) -> None:
    run = tmp_path / "a run"
    FakeRun(run, rounds=1)
    (run / "learning.json").write_text('{"data_dir": "/data sets"}')
    (run / "data.csv").write_text("client,class,samples\nclient1,9,7\nclient1,10,2\nclient2,9,1\n")

    found = _data(run)["runs"][0]

    assert found["command"] == f"./metronome run '{run}/scenario.toml' --data '/data sets'"
    assert found["data"] == {
        "clients": ["client1", "client2"],
        "classes": ["9", "10"],
        "counts": [[7, 2], [1, 0]],
    }


def test_a_killed_run_and_one_without_any_record_have_a_page_too(tmp_path: Path) -> None:
    FakeRun(tmp_path / "killed", rounds=2)
    (tmp_path / "killed" / "events.jsonl").write_text('{"node": "client1", "pha')
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "summary.json").write_text('{"failure": "interrupted"}')

    found = _embedded(report_html(_data(tmp_path / "killed", tmp_path / "empty")))

    assert [run["elapsed"] for run in found["runs"]] == [0.0, 0.0]
    assert found["runs"][1]["headline"]["failure"] == "interrupted"


def test_the_command_writes_beside_one_run_and_elsewhere_for_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        FakeRun(tmp_path / name, rounds=1)
    monkeypatch.chdir(tmp_path)

    assert main(["report", "one"]) == 0
    assert main(["report", "one", "two"]) == 0
    assert main(["report", "one", "two", "--out", "there"]) == 0

    assert (tmp_path / "one" / "report.html").exists()
    assert len(list(tmp_path.glob("runs/report-*/report.html"))) == 1
    assert (tmp_path / "there" / "report.html").exists()


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no run in it"):
        main(["report", str(tmp_path)])

    FakeRun(tmp_path, rounds=1)
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(BadInput, match="its records cannot be read"):
        main(["report", str(tmp_path)])
