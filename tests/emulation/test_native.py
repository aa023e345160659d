"""The native backend on a kernel that has netem, on every machine: inside our own guest.

The guest is on the virtual clock, which the runs inside take for the wall clock: what they measure
does not depend on how busy this machine is.
"""

import csv
import json
import re
from pathlib import Path

import pytest

from netem.backends.guest import Guest
from netem.spool import LockedSpool
from tests.support import native_inside
from tests.support.emulated import Outcome
from tests.support.scenario_trees import planned, star_scenario

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.beside,
    pytest.mark.xdist_group("native"),  # one guest for all of these tests
    pytest.mark.timeout(1800),  # for a machine with ten other things to do
]

CLIENTS = 250  # as many as need the memory that three processes with torch do
MODEL_BITS = 8 * 50_920 * 1514 / 1448  # with the headers of its frames
FRAME_SECONDS = 8 * 1514 / 1e6  # at 1 Mbit/s; the first frame is free
PROMPT = 0.005  # seconds: a change is applied that soon


class Inside:
    """What the native runs in the guest said, recorded and left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found = json.loads((folder / "found.json").read_text())

    def outcome(self, name: str) -> Outcome:
        found = self._found[name]
        return Outcome(found["code"], found["output"], self._folder / name / "run")

    def left(self, name: str) -> list[str]:
        left: list[str] = self._found[name]["left"]
        return left


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Inside:
    folder = tmp_path_factory.mktemp("native")
    guest, spool = Guest("virtual", seed=1, module=native_inside.__name__), LockedSpool("native")
    guest.prepare(planned(star_scenario(clients=CLIENTS)), print)
    process = guest.start(folder, spool, folder / "guest.log", interactive=False)
    try:
        spool.remember_session(process.pid)
        process.wait(1700)
    finally:
        guest.end(process)
        spool.remove()
    failure = folder / "guest-failure.txt"
    assert not failure.exists(), failure.read_text()
    return Inside(folder)


@pytest.fixture(scope="module")
def tree(inside: Inside) -> Outcome:
    outcome = inside.outcome("tree")
    assert outcome.code == 0, outcome.output
    return outcome


def transfers(run: Outcome, node: str, since: float, until: float) -> list[float]:
    """The seconds of each of a node's downloads and uploads that lie between two moments."""
    return [
        event["end"] - event["start"]
        for event in (*run.events("download"), *run.events("upload"))
        if event["node"] == node and since <= event["start"] and event["end"] <= until
    ]


def test_delay_and_rate_are_exact(tree: Outcome) -> None:
    summary = tree.summary
    assert (summary["backend"], summary["clock"]) == ("native", "wall")
    assert summary["fidelity"]["verdict"] == "exact"
    clean, _ = json.loads((tree.directory / "probes.json").read_text())
    assert clean["link"] == "client1-lan1"
    assert clean["round_trip_measured"] == pytest.approx(0.020, abs=1e-4)
    assert clean["rate_up_measured"] == pytest.approx(2e6, rel=0.005)
    assert clean["rate_down_measured"] == pytest.approx(2e6, rel=0.005)


def test_pings_through_mininets_command_line_see_jitter_and_loss(tree: Outcome) -> None:
    got = re.search(r"(\d+) packets transmitted, (\d+) received", tree.output)
    times = re.search(r"rtt min/avg/max/mdev = ([\d./]+) ms", tree.output)

    assert got and times, tree.output
    assert int(got[1]) == native_inside.PINGS
    lost = 1 - int(got[2]) / int(got[1])
    assert lost == pytest.approx(1 - 0.96**2, abs=0.05)  # 4 % each way; two and a half deviations
    least, mean, most, deviation = map(float, times[1].split("/"))
    # 30 ms each way, and each way up to 5 ms more or less, evenly spread.
    assert 50 <= least < 54 and 66 < most <= 70.1
    assert mean == pytest.approx(60, abs=1)
    assert deviation == pytest.approx(2**0.5 * 5 / 3**0.5, rel=0.2)


def test_lost_packets_are_counted_where_they_were_lost(tree: Outcome) -> None:
    drops = {"inst1-wan": 0, "client1-lan1": 0, "client2-lan1": 0}
    with (tree.directory / "links.csv").open() as file:
        for row in csv.DictReader(file):
            if row["link"] in drops and int(row["round"]) > 0:
                drops[row["link"]] += int(row["drops_up"]) + int(row["drops_down"])

    assert drops.pop("inst1-wan") > 0
    assert set(drops.values()) == {0}


def test_transfers_take_the_time_that_the_trace_allows(tree: Outcome) -> None:
    before = transfers(tree, "client1", 0, native_inside.TRACE_STEP)
    after = transfers(tree, "client1", native_inside.TRACE_STEP, 100)

    assert len(before) >= 2 and len(after) >= 2
    for seconds in before:
        assert seconds == pytest.approx(0.010 + MODEL_BITS / 2e6, abs=2 * FRAME_SECONDS)
    for seconds in after:
        assert seconds == pytest.approx(0.010 + MODEL_BITS / 1e6, abs=2 * FRAME_SECONDS)
    (trace,) = tree.summary["varying"]["traces"]
    assert trace["late_seconds_most"] < PROMPT


def test_the_timeline_changes_a_link_in_time(tree: Outcome) -> None:
    (change,) = tree.events("link")
    assert change["links"] == ["inst1-wan"]
    assert change["start"] == native_inside.MENDED
    assert change["end"] - change["start"] < PROMPT

    # The round trip is so short now that the window, small after the losses, does not matter.
    after = transfers(tree, "inst1", change["end"], 100)
    assert after
    for seconds in after:
        assert seconds == pytest.approx(0.005 + MODEL_BITS / 1e6, abs=2 * FRAME_SECONDS)


def test_a_client_is_handed_over_and_goes_on_in_its_new_cell(inside: Inside) -> None:
    run = inside.outcome("interrupted")

    (handover,) = run.events("handover")
    assert (handover["node"], handover["to"]) == ("client1", ["edge2"])
    assert handover["start"] == native_inside.MOVED
    assert handover["link_seconds"] == pytest.approx(0.05, abs=PROMPT)
    uploads = [event for event in run.events("upload") if event["node"] == "client1"]
    for upload in uploads:
        came_before = upload["end"] < native_inside.MOVED
        assert upload["peer"] == ("edge1" if came_before else "edge2")
    assert uploads[-1]["peer"] == "edge2"


def test_after_its_end_nothing_of_a_run_remains(inside: Inside, tree: Outcome) -> None:
    assert inside.left("tree") == []


def test_after_ctrl_c_nothing_remains_and_the_records_can_be_read(inside: Inside) -> None:
    run = inside.outcome("interrupted")

    assert run.code == 130, run.output
    assert inside.left("interrupted") == []
    assert run.summary["failure"] == "interrupted"
    assert run.summary["handovers"] == 1


def test_after_kill_9_only_the_spool_remains_which_the_next_run_clears_away(
    inside: Inside, tree: Outcome
) -> None:
    (spool,) = inside.left("killed")

    assert spool.startswith("file /dev/shm/metronome-0-run-")
    name = spool.removeprefix("file /dev/shm/")
    assert f"cleared away what a killed run had left: {name}" in tree.output
    assert inside.left("tree") == []
