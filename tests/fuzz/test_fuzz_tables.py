"""Traces, tables of links, availability and graphs, changed at random: read or refused."""

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from netem import profiles
from scenarios import availability_files, graph_files, link_draws, trace_files
from tests.fuzz.bounds import expecting_bad_input, fuzzed
from tests.fuzz.mutations import as_csv, mutated_bytes, mutated_tree, odd_value

_FOLDER = TemporaryDirectory(prefix="metronome-fuzz-")
FILE = Path(_FOLDER.name, "t.csv")

TRACES = (
    b"time,rate,delay,loss\n0,10mbit,10ms,0\n0.5,2e6,0.02,1%\n1.5,0,5ms,0.5\n",
    b"time,rate_up,rate_down\n0,1mbit,9mbit\n2,3mbit,8mbit\n",
    b"# packets\n1\n50\n100\n101\n310\n400\n",
)
LINKS = b"name,weight,rate_up,rate_down,delay,jitter,loss\ndsl,3,1mbit,16mbit,20ms,2ms,0.1%\n"
THERE = b"client,from,until\nclient1,0,60\nclient2,30s,\nclient1,90,2min\n"
GRAPH: Any = {
    "directed": False,
    "multigraph": False,
    "graph": {"name": "two"},
    "nodes": [{"id": "a", "Latitude": 1.5, "Longitude": 3}, {"id": "b", "label": "B"}, {"id": 3}],
    "edges": [
        {"source": "a", "target": "b", "rate": "10mbit", "delay": "1 ms", "loss": 0.01},
        {"source": "b", "target": 3, "LinkSpeedRaw": 1e9, "latency": 0.001},
    ],
}


def changed(content: bytes, chance: Random) -> None:
    """Write a table with fields replaced, or with any bytes changed."""
    if chance.random() < 0.5:
        FILE.write_bytes(mutated_bytes(content, chance))
        return
    rows = [line.split(",") for line in content.decode().splitlines()]
    FILE.write_bytes(as_csv(mutated_tree(rows, chance)))


@fuzzed(gate=200)
def test_traces(number: int) -> None:
    chance = Random(number)
    changed(chance.choice(TRACES), chance)

    with expecting_bad_input():
        trace_files._read.cache_clear()  # two files in one tick of the clock have the same date
        trace = trace_files.load(str(FILE))
        trace.first, trace.shortest_step, trace.mean_rates(0.0, 100.0)


@fuzzed(gate=150)
def test_tables_of_links(number: int) -> None:
    changed(LINKS, Random(number))

    with expecting_bad_input():
        link_draws._read.cache_clear()  # two files in one tick of the clock have the same date
        link_draws.load_table(str(FILE))


@fuzzed(gate=150)
def test_tables_of_who_is_there(number: int) -> None:
    changed(THERE, Random(number))

    with expecting_bad_input():
        availability_files.load(str(FILE), ["client1", "client2"])


@fuzzed(gate=150)
def test_graphs(number: int) -> None:
    chance = Random(number)
    if chance.random() < 0.5:
        FILE.write_text(json.dumps(mutated_tree(GRAPH, chance, json_value)), errors="replace")
    else:
        path = chance.choice(list(profiles.graphs().values()))
        content = path.read_bytes() if chance.random() < 0.5 else json.dumps(GRAPH).encode()
        FILE.write_bytes(mutated_bytes(content, chance))

    with expecting_bad_input():
        graph_files._read.cache_clear()  # two files in one tick of the clock have the same date
        graph_files.load(str(FILE))


def json_value(chance: Random) -> Any:
    """Return an odd value that JSON can say."""
    value = odd_value(chance)
    return value if not hasattr(value, "isoformat") else None
