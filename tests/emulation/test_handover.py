"""Clients that come and go while messages are under way: each rule of docs/multicell.md, provoked.

A model crosses a link in 0.42 s, a training takes 0.5 s: times are chosen well inside a phase.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import emulated
from tests.support.event_lines import assert_as_specified

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.beside,
    pytest.mark.xdist_group("handover"),  # its runs are shared by several tests
]

CELLS = """
name = "moves"
clock = "virtual"
seed = 3
[task]
dataset = "tiny"
classes = 9
model = "tiny-mlp"
partition = "main-classes"
samples_per_client = 20
learning_rate = 0.05
[protocol]
name = "multicell"
rounds = {rounds}
[topology]
kind = "cells"
cells = 3
alone = {alone}
overlap = {overlap}
[links]
client-edge = {{ rate = "1mbit", delay = "10ms" }}
[devices]
client = {{ speed = "1e12", overhead = "50ms", memory = "1gb" }}
edge = "laptop-core"
[limits]
round = "20s"
"""
PROMPT = 0.005  # seconds: an event is applied that soon


def run(folder: Path, timeline: str, **numbers: int) -> emulated.Outcome:
    numbers = {"rounds": 4, "alone": 3, "overlap": 1} | numbers
    outcome = emulated.run(CELLS.format(**numbers) + timeline, folder)
    assert outcome.code == 0, outcome.output
    assert outcome.summary["fidelity"]["verdict"] == "exact"
    never_twice(outcome)
    for line in outcome.events():
        assert_as_specified(line)
    return outcome


def event(at: float, kind: str, **keys: Any) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(["[[timeline]]", f'at = "{at}s"', f'event = "{kind}"', *lines, ""])


def move(at: float, client: str, *to: int, **keys: Any) -> str:
    return event(at, "handover", client=client, to=list(to), **keys)


def found(outcome: emulated.Outcome, phase: str, **wanted: Any) -> list[dict[str, Any]]:
    events = outcome.events(phase)
    return [e for e in events if all(e.get(key) == value for key, value in wanted.items())]


def never_twice(outcome: emulated.Outcome) -> None:
    """Check that no update is counted twice, and each member's is counted or noted as abandoned."""
    counted = Counter((e["peer"], e["local_round"], e["node"]) for e in outcome.events("upload"))
    assert set(counted.values()) == {1}
    given_up = {(e["peer"], e["local_round"], e["node"]) for e in outcome.events("abandoned")}
    crashed = {event["node"] for event in outcome.events("crash")}  # its round is lost with it
    for round in outcome.events("members"):
        for client in round["members"] if round["node"] not in crashed else ():
            place = (round["node"], round["local_round"], client)
            assert place in counted or place in given_up


# Round 2 starts at 1.33 s; a client alone in its cell then has the model at 1.75 s, trains until
# 2.25 s, and its update has arrived at 2.67 s.
DOWNLOAD, TRAINING, UPLOAD = 1.5, 2.0, 2.4


@pytest.fixture(scope="module")
def leavers(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    timeline = (
        move(DOWNLOAD, "client1", 2)
        + move(TRAINING, "client2", 2)
        + move(UPLOAD, "client4", 3)
        + move(TRAINING, "client7", 1)
        + move(TRAINING + 0.15, "client7", 3)
        + move(UPLOAD, "client8", 1)
        + move(UPLOAD + 0.15, "client8", 3)
    )
    return run(tmp_path_factory.mktemp("leavers"), timeline, overlap=0)


@pytest.mark.parametrize(
    ("client", "old", "new", "downloaded", "trained"),
    [
        ("client1", "edge1", "edge2", False, False),
        ("client2", "edge1", "edge2", True, True),
        ("client4", "edge2", "edge3", True, True),
    ],
    ids=["during the download", "during the training", "during the upload"],
)
def test_who_leaves_is_given_up_for_this_round_and_belongs_to_the_next_of_its_new_cell(
    leavers: emulated.Outcome, client: str, old: str, new: str, downloaded: bool, trained: bool
) -> None:
    here = {"node": client, "local_round": 2, "peer": old}
    assert bool(found(leavers, "download", **here)) is downloaded
    assert bool(found(leavers, "compute", **here)) is trained
    assert not found(leavers, "upload", **here)
    assert len(found(leavers, "abandoned", **here)) == 1
    assert found(leavers, "joined", node=client, peer=new)
    for local_round in (3, 4):
        assert found(leavers, "upload", node=client, local_round=local_round, peer=new)
        assert not found(leavers, "upload", node=client, local_round=local_round, peer=old)


def test_a_round_does_not_wait_for_those_who_left(leavers: emulated.Outcome) -> None:
    first, second = (found(leavers, "wait", node="edge1", round=n)[0] for n in (1, 2))

    lengths = [event["end"] - event["start"] for event in (first, second)]
    assert lengths[1] <= lengths[0] + PROMPT


def test_links_change_within_five_milliseconds(leavers: emulated.Outcome) -> None:
    handovers = leavers.events("handover")

    assert len(handovers) == 7
    for made in handovers:
        assert 0.05 <= made["end"] - made["start"] <= 0.05 + PROMPT
        assert made["link_seconds"] == pytest.approx(0.05, abs=PROMPT)


def test_who_comes_back_in_time_completes_its_update(leavers: emulated.Outcome) -> None:
    for client in ("client7", "client8"):
        assert len(found(leavers, "upload", node=client, local_round=2, peer="edge3")) == 1
        assert len(found(leavers, "abandoned", node=client, local_round=2)) == 1
    # One came back before it had anything to send; the other's was cut off half-way.
    assert not found(leavers, "resent", node="client7")
    assert len(found(leavers, "resent", node="client8", local_round=2, peer="edge3")) == 1


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    """Cell 1 empties, then somebody comes back; cell 3 is out; client6 between 2 and 3 crashes."""
    timeline = (
        move(1.0, "client1", 2)
        + move(1.0, "client4", 2)
        + move(1.0, "client5", 3)
        + move(9.0, "client1", 1)
        + event(3.0, "outage", cell=3, until="4s")
        + event(6.0, "crash", node="client6")
        + event(8.0, "restart", node="client6")
    )
    return run(tmp_path_factory.mktemp("trouble"), timeline, rounds=6, alone=1)


def test_an_empty_cell_waits_for_somebody_and_goes_on(trouble: emulated.Outcome) -> None:
    (waited,) = trouble.events("empty")

    assert waited["node"] == "edge1"
    assert waited["start"] < 2
    assert waited["end"] == pytest.approx(9.05, abs=0.2)  # the join of client1
    assert trouble.summary["rounds"] == 6


def test_an_outage_delays_messages_and_loses_none(trouble: emulated.Outcome) -> None:
    (outage,), (restored,) = trouble.events("outage"), trouble.events("restored")
    assert (outage["start"], outage["end"]) == (3.0, 4.0)
    assert outage["late"] <= PROMPT
    assert restored["end"] - 4.0 <= PROMPT
    crossing = [
        event
        for phase in ("download", "upload")
        for event in trouble.events(phase)
        if event.get("peer") == "edge3" and event["start"] < 4 and event["end"] > 3
    ]
    assert crossing
    assert all(event["end"] > 4 for event in crossing)
    assert not [e for e in trouble.events("abandoned") if 3 <= e["start"] <= 5]


def test_a_crash_in_the_overlap_is_felt_in_both_cells_and_a_restart_too(
    trouble: emulated.Outcome,
) -> None:
    lost = {e["peer"] for e in found(trouble, "abandoned", node="client6")}
    assert lost == {"edge2", "edge3"}
    (crash,), (restart,) = trouble.events("crash"), trouble.events("restart")
    assert crash["end"] - 6 <= PROMPT
    assert restart["end"] - 8 <= PROMPT
    uploads = found(trouble, "upload", node="client6")
    assert not [e for e in uploads if 6 < e["end"] < 8]
    assert {e["peer"] for e in uploads if e["end"] > 8} == {"edge2", "edge3"}


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    """A soft handover, a server that crashes and is restarted, and a link that becomes faster."""
    timeline = (
        move(DOWNLOAD, "client2", 2, mode="make-before-break", hold="2s")
        + event(5.0, "crash", node="edge3")
        + event(7.0, "restart", node="edge3")
        + event(2.6, "link", link="client1-cell1", rate="10mbit", delay="10ms")
    )
    return run(tmp_path_factory.mktemp("changes"), timeline, rounds=5, alone=2, overlap=0)


def test_make_before_break_completes_what_is_under_way(changes: emulated.Outcome) -> None:
    (made,) = changes.events("handover")

    assert made["link_seconds"] == 0
    assert made["end"] - made["start"] == pytest.approx(2, abs=PROMPT)
    assert not found(changes, "abandoned", node="client2", local_round=2, peer="edge1")
    assert found(changes, "upload", node="client2", local_round=2, peer="edge1")
    assert found(changes, "upload", node="client2", local_round=4, peer="edge2")


def test_a_restarted_server_goes_on_from_its_last_finished_round(
    changes: emulated.Outcome,
) -> None:
    rounds = [e["local_round"] for e in found(changes, "aggregate", node="edge3")]
    assert rounds == [1, 2, 3, 4, 5]
    assert changes.summary["rounds"] == 5
    joined = [e for e in found(changes, "joined", peer="edge3") if e["start"] > 7]
    assert {e["node"] for e in joined} == {"client5", "client6"}


def test_a_link_changes_under_a_running_transfer(changes: emulated.Outcome) -> None:
    (link,) = changes.events("link")
    assert link["end"] - link["start"] <= PROMPT

    def seconds(local_round: int) -> float:
        (upload,) = found(changes, "upload", node="client1", local_round=local_round, peer="edge1")
        return float(upload["end"] - upload["start"])

    assert seconds(1) > 0.4
    assert seconds(3) < 0.15


WALK = """
[mobility]
speed = 60.0
interruption = "100ms"
"""


def test_a_walk_is_the_same_to_the_last_byte_and_draws_its_map(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, WALK, alone=2) for name in ("first", "second"))

    assert first.summary["handovers"] > 10
    for name in ("events.jsonl", "handovers.csv", "membership.csv", "final-edge2.model"):
        assert (first.directory / name).read_bytes() == (second.directory / name).read_bytes()
    assert (first.directory / "map.png").exists()


def test_hierfavg_clients_walk_between_edge_servers_below_a_cloud(tmp_path: Path) -> None:
    text = CELLS.format(rounds=2, alone=2, overlap=0)
    text = text.replace('name = "multicell"', 'name = "hierfavg"\nedge_rounds = 2')
    text = text.replace("cells = 3", "cells = 3\ncloud = true")
    text = text.replace("[links]", '[links]\nedge-cloud = "wan-continent"')
    text = text.replace("[devices]", '[devices]\ncloud = "droplet-1gb"')

    outcome = emulated.run(text + WALK, tmp_path)

    assert outcome.code == 0, outcome.output
    never_twice(outcome)
    assert outcome.summary["handovers"] > 3
    assert all(len(event["to"]) == 1 for event in outcome.events("handover"))


def test_an_overlap_client_trains_what_it_has_when_its_patience_is_over(tmp_path: Path) -> None:
    text = CELLS.format(rounds=2, alone=1, overlap=1)
    text = text.replace('round = "20s"', 'round = "20s"\npatience = "1s"')
    outage = event(0.1, "outage", link="client4-cell2", until="8s")

    outcome = emulated.run(text + outage, tmp_path)

    assert outcome.code == 0, outcome.output
    (heard,) = found(outcome, "download", node="client4", peer="edge1", local_round=1)
    (trained,) = found(outcome, "compute", node="client4", peer="edge1", local_round=1)
    assert trained["start"] - heard["end"] == pytest.approx(1, abs=PROMPT)
    (late,) = found(outcome, "compute", node="client4", peer="edge2", local_round=1)
    assert late["start"] > 8


def test_patience_ends_with_the_model_that_began_it(tmp_path: Path) -> None:
    text = CELLS.format(rounds=2, alone=1, overlap=1)
    text = text.replace('round = "20s"', 'round = "20s"\npatience = "1s"')
    outage = event(0.1, "outage", link="client4-cell2", until="8s")

    outcome = emulated.run(text + outage + move(0.7, "client4", 2), tmp_path)

    assert outcome.code == 0, outcome.output
    assert not found(outcome, "compute", node="client4", peer="edge1")
    (late,) = found(outcome, "compute", node="client4", peer="edge2", local_round=1)
    assert late["start"] > 8
