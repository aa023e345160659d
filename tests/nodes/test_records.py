"""What a run writes while it goes on, and the lines that carry it there."""

import csv
import json
import socket
from pathlib import Path

import pytest

from contracts.control import Events, Go, Ready, Start
from contracts.events import EventFields, Phase
from contracts.spool import Spool
from contracts.status import BuildingNetwork, Failed
from netem.counters import LinkCounters
from nodes.control import Control
from nodes.recorder import Recorder
from nodes.records import Records
from tests.support.scenario_trees import planned, star_scenario


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(planned(star_scenario(clients=1)), tmp_path, Spool(tmp_path))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# Records


def test_events_count_from_the_first_rounds_start_also_those_before_it(
    records: Records, tmp_path: Path
) -> None:
    early: EventFields = {
        "node": "client1",
        "phase": Phase.REFUSED,
        "round": 0,
        "start": 99.0,
        "end": 99.0,
    }
    later: EventFields = {
        "node": "cloud",
        "phase": Phase.WAIT,
        "round": 1,
        "start": 100.5,
        "end": 102.25,
    }
    records.add_events([early])
    records.set_time_zero(100.0)
    records.add_events([later])

    written = lines(tmp_path / "events.jsonl")

    assert [(event["start"], event["end"]) for event in written] == [(-1.0, -1.0), (0.5, 2.25)]


def test_elapsed_time_is_zero_until_the_first_round(records: Records) -> None:
    assert records.elapsed(50.0) == 0.0
    records.set_time_zero(100.0)
    assert records.elapsed(103.0) == 3.0


def test_links_have_what_was_carried_since_the_round_before(
    records: Records, tmp_path: Path
) -> None:
    attachment = LinkCounters()
    records.write_links(
        0, {"client1-wan": LinkCounters(10, 20, 1, 2, 0, 0), "cloud-wan": attachment}
    )
    records.write_links(
        1, {"client1-wan": LinkCounters(110, 220, 4, 6, 1, 3), "cloud-wan": attachment}
    )

    rows = list(csv.DictReader((tmp_path / "links.csv").open()))

    assert [row["round"] for row in rows] == ["0", "0", "1", "1"]
    assert {row["tier"] for row in rows} == {"client-cloud", "attachment"}
    last = next(row for row in rows if row["round"] == "1" and row["link"] == "client1-wan")
    assert [last[key] for key in ("bytes_up", "bytes_down", "packets_up", "packets_down")] == [
        "100",
        "200",
        "3",
        "4",
    ]
    assert (last["drops_up"], last["drops_down"]) == ("1", "3")


def test_the_status_is_one_line_each(records: Records, tmp_path: Path) -> None:
    records.write_status(BuildingNetwork(nodes=2))
    records.write_status(Failed(error="two\nlines"))

    assert lines(tmp_path / "status.jsonl") == [
        {"phase": "network", "nodes": 2},
        {"phase": "failed", "error": "two\nlines"},
    ]


# Control lines


@pytest.fixture
def pair() -> tuple[Control, Control]:
    ours, theirs = socket.socketpair()
    return Control(ours), Control(theirs)


def test_reports_arrive_whole_and_in_order(pair: tuple[Control, Control]) -> None:
    node, launcher = pair

    node.say(Ready())
    node.say(Events([{"text": "a\nb"}]))

    assert launcher.read() == [Ready(), Events([{"text": "a\nb"}])]


def test_a_report_cut_in_two_is_put_together() -> None:
    ours, theirs = socket.socketpair()
    launcher = Control(theirs)

    ours.sendall(b'{"is": "rea')
    assert launcher.read() == []
    ours.sendall(b'dy"}\n{"is"')

    assert launcher.read() == [Ready()]


def test_waiting_for_a_word_passes_over_others(pair: tuple[Control, Control]) -> None:
    node, launcher = pair
    launcher.say(Start())
    launcher.say(Start(restarted=1))
    launcher.say(Go())

    assert node.wait_for(Go) == Go()


def test_a_line_whose_other_end_is_gone_is_an_error(pair: tuple[Control, Control]) -> None:
    node, launcher = pair
    node._line.close()

    with pytest.raises(ConnectionError):
        launcher.read()


def test_a_recorder_hands_over_what_it_collected_once(pair: tuple[Control, Control]) -> None:
    node, launcher = pair
    recorder = Recorder(node)
    recorder.phase("client1", Phase.COMPUTE, 1.0, 2.0, 3, modelled=1.0)

    recorder.flush()
    recorder.flush()

    [said] = launcher.read()
    assert isinstance(said, Events)
    [event] = said.events
    assert event == {
        "node": "client1",
        "phase": "compute",
        "round": 3,
        "start": 1.0,
        "end": 2.0,
        "modelled": 1.0,
    }
