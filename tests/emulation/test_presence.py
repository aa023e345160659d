"""Clients that come and go in stars and trees, and servers that crash and are restarted.

A model crosses a client's link in 0.42 s, a training takes 0.1 s: a round of a star takes 0.94 s.
"""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.emulation import test_handover
from tests.emulation.test_handover import event, found
from tests.support import emulated
from tests.support.event_lines import assert_as_specified

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.xdist_group("presence")]

COMMON = """
name = "presence"
clock = "virtual"
seed = 3
[task]
dataset = "tiny"
model = "tiny-mlp"
samples_per_client = 20
learning_rate = 0.05
[limits]
round = "20s"
[devices]
client = { speed = "1e12", overhead = "50ms", memory = "1gb" }
cloud = "droplet-1gb"
"""
STAR = """
[topology]
kind = "star"
clients = 5
[links]
client-cloud = { rate = "1mbit", delay = "10ms" }
[protocol]
name = "scaffold"
rounds = 7
clients_per_round = 3
[availability]
on = "4s"
off = "3s"
"""
TREE_NETWORK = """
edge = "laptop-core"
[topology]
kind = "tree"
institutions = 2
clients_per_institution = 2
[links]
client-edge = { rate = "1mbit", delay = "10ms" }
edge-cloud = { rate = "10mbit", delay = "10ms" }
"""
TREE = (
    TREE_NETWORK
    + """
[protocol]
name = "tempo"
rounds = 5
c = 2
edge_rounds = 2
"""
)


def run(folder: Path, text: str) -> emulated.Outcome:
    outcome = emulated.run(COMMON + text, folder)
    assert outcome.code == 0, outcome.output
    assert outcome.summary["fidelity"]["verdict"] == "exact"
    for line in outcome.events():
        assert_as_specified(line)
    return outcome


def absences(outcome: emulated.Outcome) -> dict[str, list[tuple[float, float]]]:
    """Return from when until when each client was away."""
    times: dict[str, list[float]] = defaultdict(list)
    for line in sorted(outcome.events("away") + outcome.events("back"), key=lambda e: e["end"]):
        times[line["node"]].append(line["end"])
    return {
        client: [(own[i], own[i + 1] if i + 1 < len(own) else 1e9) for i in range(0, len(own), 2)]
        for client, own in times.items()
    }


def rounds_of(outcome: emulated.Outcome, server: str) -> list[int]:
    lines = found(outcome, "aggregate", node=server)
    return [line["local_round"] for line in sorted(lines, key=lambda e: e["end"])]


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    """A star by a process, whose server is down from 3 s to 4 s; done twice, with equal records."""
    crash = event(3.0, "crash", node="cloud") + event(4.0, "restart", node="cloud")
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    first, second = (run(folder, STAR + crash) for folder in folders)
    for name in ("events.jsonl", "links.csv", "rounds.csv", "membership.csv", "final.model"):
        assert (first.directory / name).read_bytes() == (second.directory / name).read_bytes()
    return first


def test_who_is_away_gets_no_model_and_is_not_drawn(star: emulated.Outcome) -> None:
    away = absences(star)

    assert star.summary["absences"] == len(star.events("away")) >= 4
    for line in star.events("download") + star.events("upload"):
        for since, until in away.get(line["node"], ()):
            assert not since < line["end"] <= until
    for line in star.events("members"):
        members = set(line["members"])
        for client in members:
            assert not any(since < line["end"] < until for since, until in away.get(client, ()))
        drawn = {
            e["node"]
            for e in star.events("download")
            if e["local_round"] == line["local_round"] and e["start"] >= line["end"]
        }
        assert drawn <= members
        assert len(drawn) <= 3


def test_the_cloud_goes_on_from_its_last_finished_round(star: emulated.Outcome) -> None:
    assert rounds_of(star, "cloud") == list(range(1, 8))
    (crash,), (restart,) = star.events("crash"), star.events("restart")
    assert (crash["node"], crash["start"], restart["start"]) == ("cloud", 3.0, 4.0)
    begun = [line["local_round"] for line in star.events("members")]
    assert begun.count(crash["round"]) == 2  # once before the crash, once again
    (waited,) = [e for e in star.events("empty") if 4 <= e["start"] < 4.01]
    back = {e["node"] for e in star.events("joined") if 4 <= e["start"] < waited["end"]}
    assert len(back) > 1  # it did not go on with the first that came
    assert star.summary["rounds"] == 7


def test_an_institution_without_clients_waits_for_the_first_that_is_back(tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("client,from,until\nclient3,0,3\nclient3,9,\nclient4,20,\n")

    outcome = run(tmp_path, TREE + '[availability]\ntrace = "there.csv"\n')

    waits = [e for e in found(outcome, "empty", node="inst2") if e["end"] > e["start"]]
    assert [round(wait["end"], 1) for wait in waits] == [9.1]
    assert rounds_of(outcome, "cloud") == [1, 2, 3, 4, 5]
    weightless = [e for e in outcome.events("aggregate") if e["node"] == "cloud"]
    assert [sorted(e["divergences"]) for e in weightless].count(["inst1", "inst2"]) >= 4
    assert not [e for e in found(outcome, "upload", node="client3") if 3 < e["end"] < 9]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    """Tempo's three layers: an institution is down in round 2, and the cloud in a later one."""
    events: tuple[tuple[float, str, str], ...] = (
        (3.0, "crash", "inst1"),
        (5.0, "restart", "inst1"),
        (9.0, "crash", "cloud"),
        (12.0, "restart", "cloud"),
    )
    timeline = "".join(event(at, kind, node=node) for at, kind, node in events)
    return run(tmp_path_factory.mktemp("servers"), TREE + timeline)


def uploads(outcome: emulated.Outcome, node: str, peer: str) -> list[dict[str, Any]]:
    return sorted(found(outcome, "upload", node=node, peer=peer), key=lambda e: e["end"])


def test_an_institution_begins_again_with_the_clouds_next_model(servers: emulated.Outcome) -> None:
    (given_up,) = servers.events("abandoned")
    assert (given_up["node"], given_up["peer"], given_up["local_round"]) == ("inst1", "cloud", 2)
    (joined,) = [e for e in found(servers, "joined", node="inst1") if e["start"] < 9]
    clients = [e for e in servers.events("joined") if e["peer"] == "inst1"]
    assert {e["node"] for e in clients} == {"client1", "client2"}
    assert 5 <= joined["start"] <= 5.2
    after = [e for e in uploads(servers, "inst1", "cloud") if e["start"] > 5]
    assert [e["local_round"] for e in after] == [4, 5]
    first = next(e for e in servers.events("members") if e["node"] == "inst1" and e["start"] > 5)
    assert first["members"] == ["client1", "client2"]


def test_institutions_do_the_round_again_that_the_cloud_has_lost(
    servers: emulated.Outcome,
) -> None:
    assert rounds_of(servers, "cloud") == [1, 2, 3, 4, 5]
    lost = next(e["round"] for e in servers.events("crash") if e["node"] == "cloud")
    begun = [e["end"] for e in found(servers, "members", node="cloud", local_round=lost)]
    assert len(begun) == 2
    assert begun[0] < 9 < 12 < begun[1]
    left = found(servers, "left", peer="cloud")
    assert {e["node"] for e in left} == {"inst1", "inst2"}
    for name in ("inst1", "inst2"):
        assert [e["local_round"] for e in uploads(servers, name, "cloud")][-1] == 5
    ends = [e["end"] for e in servers.events("round")]
    assert all(earlier < later for earlier, later in pairwise(ends))


def test_in_cells_clients_come_and_go_too(tmp_path: Path) -> None:
    process = '[availability]\non = "4s"\noff = "3s"\n'

    outcome = test_handover.run(tmp_path, process, rounds=4)

    away = absences(outcome)
    assert outcome.summary["absences"] == len(outcome.events("away")) >= 4
    for line in outcome.events("download") + outcome.events("upload"):
        for since, until in away.get(line["node"], ()):
            assert not since < line["end"] <= until
    for server in ("edge1", "edge2", "edge3"):
        assert rounds_of(outcome, server) == [1, 2, 3, 4]
