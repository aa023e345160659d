"""What a run leaves, read back from its records: complete ones, and those of a run cut short."""

import csv
import dataclasses
import io
import json
import subprocess
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from contracts.tables import PHASES
from reports.finish import RunFacts, Summary, finish
from reports.result_table import result_table
from reports.wording import duration, links, size
from tests.support.fake_run import MODEL_BYTES, FakeRun, event, star_plan

FACTS = RunFacts(
    name="quickstart",
    protocol="fedavg",
    clock="virtual",
    backend="guest",
    seed=1,
    target_accuracy=0.7,
    host_seconds=60.0,
    lost=[],
    failure=None,
    host_startup_seconds=9.0,
    host_training_seconds=50.0,
    pool_seconds=80.0,
)


@pytest.fixture(autouse=True)
def _no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time, and test_figure.py does it."""
    monkeypatch.setattr("reports.finish.draw_accuracy", lambda *_: None)


def _facts(**changes: Any) -> RunFacts:
    return dataclasses.replace(FACTS, **changes)


def _rounds(directory: Path) -> list[dict[str, str]]:
    with (directory / "rounds.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _shown(summary: Summary) -> str:
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(result_table(summary))
    return captured.get()


def test_the_summary_of_a_complete_run(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    finish(tmp_path, FACTS)

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["rounds"] == 12
    assert summary["elapsed_seconds"] == 240.0
    assert summary["final_accuracy"] == summary["best_accuracy"] == pytest.approx(0.8068, abs=1e-4)
    assert (summary["time_to_target_seconds"], summary["rounds_to_target"]) == (120.0, 6)
    assert summary["payload_bytes"] == 12 * 3 * 2 * MODEL_BYTES
    assert summary["drops"] == 36
    assert summary["fidelity"] == {}  # nothing was measured
    assert summary["failure"] is None


def test_packets_that_a_shared_link_dropped_are_counted(tmp_path: Path) -> None:
    FakeRun(tmp_path)
    links = tmp_path / "links.csv"
    rows = [row.split(",") for row in links.read_text().splitlines()]
    for row in rows:
        if row[:2] in (["0", "cloud-wan"], ["1", "cloud-wan"]):
            row[-2:] = ["5", "2"]
    links.write_text("".join(",".join(row) + "\n" for row in rows))

    finish(tmp_path, FACTS)

    assert json.loads((tmp_path / "summary.json").read_text())["drops"] == 36 + 5 + 2


def test_bytes_on_the_wire_leave_out_attachments_and_the_joining(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    summary = finish(tmp_path, FACTS)

    assert summary.bytes_on_wire == 12 * 3 * 2 * round(1.04 * MODEL_BYTES)
    assert summary.wire_overhead == pytest.approx(0.04, abs=1e-5)
    assert summary.wire_overhead_by_tier == {"client-cloud": {"up": 0.04, "down": 0.04}}


def test_payload_of_a_round_that_never_ended_is_not_set_against_the_links(tmp_path: Path) -> None:
    run = FakeRun(tmp_path)
    half_round = [event("client1", "download", 13, 240.0, 241.0, local_round=13, bytes=MODEL_BYTES)]
    with (tmp_path / "events.jsonl").open("a") as file:
        file.writelines(json.dumps(e) + "\n" for e in half_round)

    summary = finish(run.directory, _facts(failure="client1: gone"))

    assert summary.payload_bytes == 12 * 3 * 2 * MODEL_BYTES


def test_the_phases_of_every_round_add_up_to_its_length(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    finish(tmp_path, FACTS)

    rows = _rounds(tmp_path)
    assert [row["round"] for row in rows] == [str(number) for number in range(13)]
    for before, row in pairwise(rows):
        length = Decimal(row["elapsed_seconds"]) - Decimal(before["elapsed_seconds"])
        assert sum(Decimal(row[phase]) for phase in PHASES) == length
    assert [rows[1][phase] for phase in PHASES] == [
        "1.000000",
        "16.000000",
        "2.000000",
        "0.000000",
        "1.000000",
    ]


def test_round_0_is_the_initial_model(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    finish(tmp_path, FACTS)

    first = _rounds(tmp_path)[0]
    assert (first["elapsed_seconds"], first["accuracy"], first["loss"]) == (
        "0.000000",
        "0.100000",
        "2.300000",
    )
    assert {first[phase] for phase in PHASES} == {"0.000000"}


def test_events_are_sorted_and_doing_it_again_changes_nothing(tmp_path: Path) -> None:
    run = FakeRun(tmp_path)
    before = (tmp_path / "events.jsonl").read_text().splitlines()

    finish(run.directory, FACTS)
    once = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    finish(run.directory, FACTS)

    after = [json.loads(line) for line in once["events.jsonl"].splitlines()]
    keys = [(e["start"], e["end"], e["node"], e["phase"]) for e in after]
    assert keys == sorted(keys)
    assert sorted(before) == sorted(once["events.jsonl"].decode().splitlines())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == once


def test_a_target_that_is_never_reached_gives_null(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    summary = finish(tmp_path, _facts(target_accuracy=0.99))

    assert summary.time_to_target_seconds is None and summary.rounds_to_target is None
    assert "not reached" in _shown(summary)


def test_without_a_target_nothing_is_said_about_it(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    summary = finish(tmp_path, _facts(target_accuracy=None))

    assert summary.time_to_target_seconds is None
    assert "Time to" not in _shown(summary)


def test_a_run_that_left_nothing_still_has_readable_files(tmp_path: Path) -> None:
    summary = finish(tmp_path, _facts(failure="no room in /dev/shm"))

    assert (tmp_path / "rounds.csv").read_text() == (
        "round,elapsed_seconds,accuracy,loss,download,compute,upload,wait,aggregate\n"
    )
    read = json.loads((tmp_path / "summary.json").read_text())
    assert read["rounds"] == 0
    for key in ("elapsed_seconds", "final_accuracy", "bytes_on_wire", "wire_overhead", "drops"):
        assert read[key] is None
    assert read["overruns"] == {"nodes": 0, "seconds": 0.0, "share": None, "by_node": {}}
    assert "no room in /dev/shm" in _shown(summary)


def test_a_run_that_failed_in_round_1_keeps_the_initial_accuracy(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=0)
    run.write_events([event("client1", "download", 1, 0.0, 1.0, local_round=1, bytes=5)])

    summary = finish(tmp_path, _facts(failure="inst1: its process ended with code 1"))

    assert (summary.rounds, summary.elapsed_seconds) == (0, None)
    assert summary.final_accuracy == pytest.approx(0.1)
    assert summary.bytes_on_wire is None and summary.payload_bytes is None
    assert [row["round"] for row in _rounds(tmp_path)] == ["0"]


@pytest.mark.parametrize("name", ["events.jsonl", "evaluations.jsonl", "links.csv"])
def test_a_torn_last_line_costs_only_itself(tmp_path: Path, name: str) -> None:
    FakeRun(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-20])

    summary = finish(tmp_path, FACTS)

    assert summary.rounds == 12
    assert summary.rounds_to_target == 6
    assert summary.bytes_on_wire is not None


def test_models_that_could_not_be_evaluated_leave_their_cells_empty(tmp_path: Path) -> None:
    FakeRun(tmp_path)
    path = tmp_path / "evaluations.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[12] |= {"accuracy": None, "loss": None, "error": "ValueError"}
    lines.append({"round": None, "key": "round-00099", "accuracy": None, "loss": None})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    summary = finish(tmp_path, FACTS)

    assert summary.final_accuracy == lines[11]["accuracy"]
    assert _rounds(tmp_path)[12]["accuracy"] == ""


def test_refusals_are_counted_by_reason(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=1)
    reasons = ["shape", "round", "shape"]
    run.write_events(
        [event("cloud", "refused", 1, 1.0, 1.0, reason=reason, peer="x") for reason in reasons]
    )

    summary = finish(tmp_path, FACTS)

    assert summary.refused == {"round": 1, "shape": 2}
    assert "2 x shape" in _shown(summary)


def test_overruns_name_only_nodes_that_overran_noticeably(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=1)
    run.write_events(
        [
            event("client1", "compute", 1, 0.0, 10.0, local_round=1, overrun=2.0),
            event("client2", "compute", 1, 0.0, 10.0, local_round=1, overrun=0.002),
        ]
    )

    overruns = finish(tmp_path, FACTS).overruns

    assert (overruns.nodes, overruns.seconds, overruns.share) == (1, 2.002, 0.1001)


def test_the_table_fits_80_columns_and_takes_no_text_for_markup(tmp_path: Path) -> None:
    FakeRun(tmp_path)
    failure = "client7: [red]odd[/nonsense] " + "long " * 40

    shown = _shown(finish(tmp_path, _facts(failure=failure, lost=["client3"])))

    assert all(len(line) <= 80 for line in shown.splitlines())
    for words in (
        "[red]odd[/nonsense]",
        "4 min 0 s for 12 rounds",
        "2 min 0 s (round 6)",
        "client3",
    ):
        assert words in shown
    assert "start-up 9.0 s, then 4.80 x real time" in shown


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0421, "0.04 s"),
        (12.34, "12.3 s"),
        (59.97, "1 min 0 s"),
        (192.4, "3 min 12 s"),
        (3599.7, "1 h 0 min"),
        (7530.0, "2 h 6 min"),
        (86399.0, "1 d 0 h"),
        (273600.0, "3 d 4 h"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_sizes_and_links_are_said_as_people_say_them() -> None:
    assert (size(812), size(12_345_678)) == ("812 B", "12.3 MB")
    assert links(star_plan(3)) == "client-cloud lte (10 Mbit/s up, 30 Mbit/s down, 50 ms)"


def test_reading_records_back_needs_no_torch() -> None:
    code = "import sys, reports.finish, reports.result_table; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
