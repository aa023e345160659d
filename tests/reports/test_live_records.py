"""Records of runs that go on: read when something has come, whatever has been written so far."""

import dataclasses
import json
import random
from pathlib import Path

from contracts.provenance import Provenance
from contracts.schema import SCHEMA
from reports.page.data import page_data
from reports.page.html import json_text
from reports.page.live_records import LiveRuns
from reports.records.run_records import RunRecords
from tests.support.fake_run import FakeRun


class Clock:
    """Moves when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def rounds_shown(runs: LiveRuns) -> list[int]:
    return [len(run["spent"]["rounds"]) for run in runs.data["runs"]]


def write_round(directory: Path, number: int) -> None:
    """Append the events of a later round, as its nodes would."""
    run = FakeRun(directory.parent / "source", rounds=number)
    lines = (run.directory / "events.jsonl").read_text().splitlines(keepends=True)
    own = [line for line in lines if json.loads(line)["round"] == number]
    with (directory / "events.jsonl").open("a") as file:
        file.writelines(own)


def test_a_finished_round_is_seen_and_a_phase_within_a_round_is_not_waited_upon(
    tmp_path: Path,
) -> None:
    clock = Clock()
    FakeRun(tmp_path / "run", rounds=2)
    runs = LiveRuns([tmp_path / "run"], clock)
    runs.refresh()
    assert (rounds_shown(runs), runs.stamp) == ([2], 1)

    clock.now = 10
    with (tmp_path / "run" / "events.jsonl").open("a") as file:
        line = {"node": "client1", "phase": "download", "round": 3, "start": 40.0, "end": 41.0}
        file.write(json.dumps(line) + "\n")
    runs.refresh()
    assert runs.stamp == 1

    clock.now = 20
    write_round(tmp_path / "run", 3)
    runs.refresh()
    assert (rounds_shown(runs), runs.stamp) == ([3], 2)


def test_records_are_read_every_two_seconds_at_most_unless_it_is_the_end(tmp_path: Path) -> None:
    clock = Clock()
    FakeRun(tmp_path / "run", rounds=2)
    runs = LiveRuns([tmp_path / "run"], clock)
    runs.refresh()
    write_round(tmp_path / "run", 3)

    clock.now = 1.9
    runs.refresh()
    assert rounds_shown(runs) == [2]
    runs.refresh(at_once=True)
    assert rounds_shown(runs) == [3]


def test_reading_that_takes_long_rests_ten_times_as_long(tmp_path: Path) -> None:
    FakeRun(tmp_path / "run", rounds=2)
    moments = iter([0.0, 0.0, 3.0, 32.9, 33.1, 33.1])  # made; read from 0 to 3; asked twice
    runs = LiveRuns([tmp_path / "run"], lambda: next(moments))
    runs.refresh()
    write_round(tmp_path / "run", 3)

    runs.refresh()
    assert rounds_shown(runs) == [2]
    runs.refresh()
    assert rounds_shown(runs) == [3]


def test_runs_appear_when_they_begin_and_one_begun_anew_is_read_anew(tmp_path: Path) -> None:
    clock = Clock()
    FakeRun(tmp_path / "first", rounds=3)
    runs = LiveRuns([tmp_path / "first", tmp_path / "second"], clock)
    runs.refresh()
    assert rounds_shown(runs) == [3]

    FakeRun(tmp_path / "first", rounds=1)
    FakeRun(tmp_path / "second", rounds=2)
    runs.refresh(at_once=True)
    assert rounds_shown(runs) == [1, 2]


def test_a_record_that_is_half_written_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run", rounds=2)
    runs = LiveRuns([tmp_path / "run"], Clock())
    runs.refresh()
    whole = run.plan.to_json()

    (tmp_path / "run" / "plan.json").write_text(whole[: len(whole) // 2])
    write_round(tmp_path / "run", 3)
    runs.refresh(at_once=True)
    assert rounds_shown(runs) == [2]

    (tmp_path / "run" / "plan.json").write_text(whole)
    runs.refresh(at_once=True)
    assert rounds_shown(runs) == [3]


def test_newer_records_are_refused_in_the_words_of_the_report(tmp_path: Path) -> None:
    FakeRun(tmp_path / "good", rounds=2)
    new = FakeRun(tmp_path / "new", rounds=2)
    made = Provenance(schema=SCHEMA + 1, version="9.9.9")
    plan = dataclasses.replace(new.plan, provenance=made)
    (tmp_path / "new" / "plan.json").write_text(plan.to_json())
    runs = LiveRuns([tmp_path / "good", tmp_path / "new"], Clock())

    runs.refresh()

    assert [run["name"] for run in runs.data["runs"]] == ["good"]
    assert runs.data["refused"] == [
        f"{tmp_path / 'new'}: its records are of schema {SCHEMA + 1}, newer than the {SCHEMA} that "
        "this Metronome reads; use version 9.9.9 or a later one"
    ]

    FakeRun(tmp_path / "new", rounds=2)  # run again by this version
    runs.refresh(at_once=True)
    assert rounds_shown(runs) == [2, 2]
    assert "refused" not in runs.data


def test_the_page_can_be_made_of_any_beginning_of_the_records(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run", rounds=3)
    events = tmp_path / "run" / "events.jsonl"
    ordered = sorted(events.read_text().splitlines(), key=lambda line: json.loads(line)["end"])
    text = "\n".join(ordered) + "\n"
    for length in random.Random(1).sample(range(len(text)), 60):
        events.write_text(text[:length])

        json_text(page_data([RunRecords.read(run.directory)]))
