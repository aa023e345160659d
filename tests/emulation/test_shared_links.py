"""Links that nodes share, and networks of routers, with real packets on the virtual clock."""

import json
from pathlib import Path

import pytest

from cli.fidelity import error, measure
from nodes import fidelity_matrix
from tests.support import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]

COMMON = """
name = "shared"
clock = "virtual"
[task]
dataset = "tiny"
model = "lenet5"
samples_per_client = 10
"""
STAR = """
[protocol]
name = "fedavg"
rounds = 2
[topology]
kind = "star"
clients = 8
[links]
client-cloud = {{ rate = "20mbit", delay = "5ms" }}
cloud = {{ rate = "10mbit"{queueing} }}
[devices]
client = "instant"
cloud = "instant"
"""

GRAPH = """
[protocol]
name = "fedavg"
rounds = 1
[topology]
kind = "graph"
file = "net.json"
clients_per_institution = 1
hosts = [
    {{ role = "cloud", at = "Oslo" }},
    {{ role = "edge", at = "Rome" }},
    {{ role = "edge", at = "Bonn", count = 2 }},
    {{ role = "client", at = "Bern", parent = "inst1" }},
]
[links]
client-edge = "lan"
edge-cloud = {{ rate = "100mbit", delay = "1ms" }}
[devices]
client = "instant"
edge = "instant"
cloud = "instant"
[[traffic]]
from = "inst1"
to = "inst3"
kind = "constant"
rate = "100kbit"
"""
# Rome, Bern and Bonn in a row, and Oslo behind a slow link that all institutions cross. From Rome
# to Bonn there is a long way round, which nobody takes.
EDGES = [
    ("Rome", "Bern", "1gbit", "4ms"),
    ("Bern", "Bonn", "1gbit", "3ms"),
    ("Rome", "Bonn", "1gbit", "50ms"),
    ("Bonn", "Oslo", "10mbit", "10ms"),
]


def test_senders_that_share_a_link_take_as_long_as_their_bytes_need_together() -> None:
    cells = measure(fidelity_matrix.SHARED_CELLS, "virtual", report=lambda cell: None)

    assert [cell["senders"] for cell in cells] == [2, 10, 50, 2, 10, 50]
    for cell in cells:
        # N messages of M bytes, each frame 1514 bytes for 1448, at the shared rate; half a round
        # trip for the last one; and the idle time while the windows double.
        assert abs(error(cell)) <= 0.02, cell


# Two rounds of eight models of 246,824 bytes each way, as frames 258,116 bytes, at 10 Mbit/s.
SECONDS = 2 * 2 * 8 * 258_116 * 8 / 10e6


def test_a_shared_link_is_found_and_what_a_faster_one_brings_is_said(tmp_path: Path) -> None:
    text = COMMON + STAR.format(queueing="")
    slow = emulated.run(text, tmp_path / "slow")
    fast = emulated.run(text, tmp_path / "fast", "--set", "links.cloud.rate=20mbit")

    assert slow.code == fast.code == 0, slow.output + fast.output
    assert slow.summary["fidelity"]["verdict"] == "exact"
    assert slow.summary["elapsed_seconds"] == pytest.approx(SECONDS, rel=0.03)
    found = slow.summary["bottleneck"]
    assert "of the time is the cloud's own 10 Mbit/s, shared by 8 transfers;" in found["sentence"]
    both_ways = {"rate_up": 2.0, "rate_down": 2.0}
    said = next(what for what in found["what_if"] if what["factors"] == both_ways)
    assert said["place"] == "links.cloud"
    assert said["elapsed_seconds"] == pytest.approx(fast.summary["elapsed_seconds"], rel=0.1)


def test_connections_that_take_turns_end_together_and_do_so_again(tmp_path: Path) -> None:
    text = COMMON + STAR.format(queueing=', queueing = "fq_codel"')
    once, again = (emulated.run(text, tmp_path / name) for name in ("once", "again"))

    assert once.code == again.code == 0, once.output
    assert once.summary["fidelity"]["verdict"] == "exact"
    for name in ("events.jsonl", "links.csv"):
        assert (once.directory / name).read_text() == (again.directory / name).read_text()
    ends = [event["end"] for event in once.events("upload") if event["round"] == 2]
    starts = [event["start"] for event in once.events("upload") if event["round"] == 2]
    assert max(ends) - min(ends) < 0.25 * (max(ends) - min(starts))


def test_packets_cross_a_graph_by_the_shortest_way_and_share_its_links(tmp_path: Path) -> None:
    names = ("source", "target", "rate", "delay")
    edges = [dict(zip(names, edge, strict=True)) for edge in EDGES]
    nodes = [{"id": city} for city in ("Rome", "Bern", "Bonn", "Oslo")]
    file = tmp_path / "net.json"
    file.write_text(json.dumps({"nodes": nodes, "edges": edges}))

    text = COMMON + GRAPH.format().replace("net.json", str(file))
    outcome = emulated.run(text, tmp_path / "run")

    assert outcome.code == 0, outcome.output
    assert outcome.summary["fidelity"]["verdict"] == "exact"
    probes = {p["link"]: p for p in json.loads((outcome.directory / "probes.json").read_text())}
    assert probes["inst1-rome"]["round_trip_asked"] == pytest.approx(2 * (1 + 4 + 3 + 10) / 1000)
    assert probes["inst1-rome"]["rate_up_asked"] == 10e6
    carried: dict[str, int] = {}
    for row in (outcome.directory / "links.csv").read_text().splitlines()[1:]:
        number, name, _, up, *_ = row.split(",")
        if number == "1":
            carried[name] = int(up)
    assert carried["rome-bonn"] == 0
    assert carried["bonn-oslo"] > 3 * 246_824, "three institutions' updates"
    assert 246_824 < carried["rome-bern"] < carried["bonn-oslo"]
