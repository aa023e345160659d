"""Methods without rounds, with packets: FedAsync and FedBuff on a star and a tree.

A model crosses a client's link in 0.42 s; a training takes 0.1 s, on the slow client 3 s.
"""

from itertools import pairwise
from pathlib import Path

import pytest

from protocols.wire import read_file
from tests.emulation.test_handover import event
from tests.emulation.test_presence import TREE_NETWORK, run
from tests.support import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.xdist_group("streaming")]

STAR = """
[topology]
kind = "star"
clients = 4
[links]
client-cloud = {{ rate = "1mbit", delay = "10ms" }}
[hosts.client4]
device = {{ speed = "1e12", overhead = "1500ms", memory = "1gb" }}
[protocol]
{protocol}
"""
EQUAL_STAR = STAR.replace("[hosts.client4]\n", "").replace(
    'device = {{ speed = "1e12", overhead = "1500ms", memory = "1gb" }}\n', ""
)
TREE = (
    TREE_NETWORK
    + """
[protocol]
name = "fedbuff"
rounds = 6
edge_rounds = 2
buffer = 2
"""
)
CRASHES = (
    event(2.5, "crash", node="cloud")
    + event(4.0, "restart", node="cloud")
    + event(4.5, "crash", node="client1")
    + event(6.0, "restart", node="client1")
)


def _wait_free_steps(outcome: emulated.Outcome) -> None:
    """The rounds follow each other without gaps, and every phase of the path is accounted for."""
    ends = [line["end"] for line in outcome.events("round")]
    starts = [line["start"] for line in outcome.events("round")]
    assert starts[1:] == ends[:-1] and all(a < b for a, b in pairwise(ends))


def test_fedasync_does_not_wait_for_a_slow_client(tmp_path: Path) -> None:
    protocol = 'name = "fedasync"\nrounds = 20\nfunction = "hinge"\na = 10.0\nb = 4.0'

    outcome = run(tmp_path, STAR.format(protocol=protocol))

    _wait_free_steps(outcome)
    uploads = sorted(outcome.events("upload"), key=lambda e: e["local_round"])
    aggregates = sorted(outcome.events("aggregate"), key=lambda e: e["local_round"])
    answers = [(e["node"], e["local_round"] - e["answers"]) for e in uploads]
    assert [next(iter(e["staleness"].items())) for e in aggregates] == answers
    slow = [stale for node, stale in answers if node == "client4"]
    quick = [stale for node, stale in answers if node != "client4"]
    assert slow and min(slow) > max(quick)  # it was overtaken by all the others
    # the others send a model and get one in 0.96 s, three of them
    assert outcome.summary["elapsed_seconds"] < 20 / 3 * 0.96 + 0.5
    assert outcome.summary["bottleneck"]["by_phase"]


def test_with_equal_clients_and_a_buffer_for_all_fedbuff_is_fedavg(tmp_path: Path) -> None:
    models, times = [], []
    for name, more in (("fedavg", ""), ("fedbuff", "buffer = 4\n")):
        folder = tmp_path / name
        folder.mkdir()
        protocol = f'name = "{name}"\nrounds = 3\n{more}'
        outcome = run(folder, EQUAL_STAR.format(protocol=protocol))
        models.append(read_file(outcome.directory / "final.model").tensors)
        times.append(outcome.summary["elapsed_seconds"])

    average, buffered = models
    for name, tensor in average.items():
        assert buffered[name] == pytest.approx(tensor, abs=1e-6)
    assert times[1] == pytest.approx(times[0], rel=1e-3)


def test_on_a_tree_neither_institutions_nor_the_cloud_have_rounds(tmp_path: Path) -> None:
    outcome = run(tmp_path, TREE)

    _wait_free_steps(outcome)
    cloud = [e for e in outcome.events("aggregate") if e["node"] == "cloud"]
    assert len(cloud) == 6 and all(len(e["staleness"]) == 1 for e in cloud)
    for edge in ("inst1", "inst2"):
        own = [e for e in outcome.events("aggregate") if e["node"] == edge]
        assert len(own) >= 4 and all(len(e["staleness"]) <= 2 for e in own)
    paths = outcome.summary["bottleneck"]["by_tier"]
    assert paths["client-edge"] > 0.3  # the chain is followed through the institution


def test_crashes_of_the_cloud_and_of_a_client_repeat_exactly(tmp_path: Path) -> None:
    outcomes = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        protocol = 'name = "fedbuff"\nrounds = 14\nbuffer = 2\nconcurrency = 3'
        outcomes.append(run(folder, STAR.format(protocol=protocol) + CRASHES))

    first, second = outcomes
    assert first.summary["rounds"] == 14
    for name in ("events.jsonl", "links.csv", "rounds.csv", "final.model"):
        assert (first.directory / name).read_bytes() == (second.directory / name).read_bytes()
    down = [e for e in first.events("upload") if 2.5 < e["end"] < 4.0 and e["peer"] == "cloud"]
    assert down == []
    assert any(e["node"] == "client1" for e in first.events("upload") if e["end"] > 6.0)
