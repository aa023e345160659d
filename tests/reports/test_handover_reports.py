"""handovers.csv, membership.csv and the summary of a run in which clients moved, by hand."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from contracts.plan import Plan
from contracts.tables import PHASES
from contracts.timeline import CrashEvent, Walk
from reports.finish import Summary, finish
from tests.reports.test_summary import FACTS, _shown
from tests.support.fake_cells import EDGES, KEYS, cells, line, write_lines
from tests.support.fake_run import Fields, event, star_plan

FIRST, SECOND, THIRD = EDGES
CRASH = CrashEvent(at=1.0, node="client1")
WALK = Walk(
    mode="break-before-make",
    interruption=0.05,
    hold=0.0,
    speed=2.0,
    dwell=0.0,
    spacing=200.0,
    radius=115.0,
    seed=1,
    hears_all=True,
    homes=((0,),),
)
TIMES = ("link_seconds", "service_seconds")
HANDOVER_KEYS = (
    "handovers",
    "service_interruption_mean_seconds",
    "abandoned",
    "resent",
    "outages",
    "crashes",
    "absences",
)


def moving_plan(homes: list[list[str]], **changes: Any) -> Plan:
    """Clients that hear these edge servers at first, the own one first."""
    plan = star_plan(len(homes))
    edges = (dataclasses.replace(plan.nodes[0], name=edge, role="edge") for edge in EDGES)
    clients = (
        dataclasses.replace(
            node,
            index=index,
            parent=home[0],
            parent_address="10.0.0.1",
            others=tuple((edge, "10.0.0.1") for edge in home[1:]),
        )
        for index, (node, home) in enumerate(zip(plan.nodes[1:], homes, strict=True))
    )
    nodes = (*edges, *clients)
    return dataclasses.replace(
        plan,
        topology="cells",
        cells=cells([0.6]),
        nodes=nodes,
        **({"timeline": (CRASH,)} | changes),
    )


def write_moving(directory: Path, plan: Plan, events: list[Fields], rounds: int = 5) -> None:
    """A run of rounds of ten seconds with these events besides."""
    (directory / "plan.json").write_text(plan.to_json())
    scores = [
        line(round, key, [0.1 + 0.7 * round / (round + 3)] * 6)
        for round in range(rounds + 1)
        for key in KEYS
    ]
    write_lines(directory / "evaluations.jsonl", scores)
    ends = [event(THIRD, "round", n, 10.0 * (n - 1), 10.0 * n) for n in range(1, rounds + 1)]
    write_lines(directory / "events.jsonl", [*ends, *events])


def handover(client: str, start: float, before: str, after: str, **more: Any) -> Fields:
    """It takes a tenth of a second; edge servers by their numbers."""
    ways = {"from": [f"edge{n}" for n in before], "to": [f"edge{n}" for n in after]}
    fields = {"mode": "break-before-make", "link_seconds": 0.1, **ways, **more}
    return event(client, "handover", 1 + int(start // 10), start, start + 0.1, **fields)


def note(client: str, phase: str, start: float, edge: str, **more: Any) -> Fields:
    return event(client, phase, 1, start, start, peer=edge, local_round=1, **more)


def joined(client: str, start: float, end: float, edge: str) -> Fields:
    return event(client, "joined", 1, start, end, peer=edge)


def members(edge: str, round: int, start: float, who: list[str]) -> Fields:
    return event(edge, "members", round, start, start, local_round=round, members=who)


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time, and test_map_figure.py does it."""
    for name in ("draw_accuracy", "draw_cells", "draw_map", "draw_membership"):
        monkeypatch.setattr(f"reports.finish.{name}", lambda *_: None)


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _handovers(directory: Path, events: list[Fields]) -> list[dict[str, str]]:
    write_moving(directory, moving_plan([[FIRST]] * 3), events)
    finish(directory, FACTS)
    return _table(directory / "handovers.csv")


# handovers.csv


def test_a_handover_is_a_line_that_says_who_when_and_between_what(tmp_path: Path) -> None:
    later = handover("client2", 12.0, "12", "23", link_seconds=0.0)
    found = _handovers(tmp_path, [later, handover("client1", 3.5, "1", "2")])

    assert [row["client"] for row in found] == ["client1", "client2"]
    assert found[1] == {
        "client": "client2",
        "round": "2",
        "at_seconds": "12.000000",
        "from": "edge1 edge2",
        "to": "edge2 edge3",
        "mode": "break-before-make",
        "link_seconds": "0.000000",
        "service_seconds": "0.000000",
        "abandoned": "0",
        "resent": "0",
    }


def test_service_is_missing_until_the_first_of_the_new_servers_has_welcomed_it(
    tmp_path: Path,
) -> None:
    [row] = _handovers(
        tmp_path,
        [
            handover("client1", 3.0, "1", "23"),
            joined("client1", 0.0, 0.5, FIRST),
            joined("client1", 3.1, 3.9, SECOND),
            joined("client1", 3.2, 3.4, THIRD),
            joined("client2", 3.1, 3.2, SECOND),
        ],
    )

    assert [row[key] for key in TIMES] == ["0.100000", "0.400000"]


def test_a_client_that_still_hears_a_server_it_heard_before_misses_no_service(
    tmp_path: Path,
) -> None:
    events = [handover("client1", 3.0, "1", "12"), joined("client1", 3.1, 4.0, SECOND)]

    assert _handovers(tmp_path, events)[0]["service_seconds"] == "0.000000"


@pytest.mark.parametrize(("welcomed", "missing"), [(4.5, "0.000000"), (6.5, "1.500000")])
def test_a_link_that_is_kept_beside_the_new_one_serves_until_it_goes(
    tmp_path: Path, welcomed: float, missing: str
) -> None:
    kept = handover("client1", 3.0, "1", "2", mode="make-before-break", link_seconds=0.0)
    events = [kept | {"end": 5.0}, joined("client1", 3.1, welcomed, SECOND)]

    assert _handovers(tmp_path, events)[0]["service_seconds"] == missing


def test_service_that_never_came_is_left_empty(tmp_path: Path) -> None:
    """The first new server was left again before it answered; the second never did."""
    first, second = _handovers(
        tmp_path,
        [
            handover("client1", 3.0, "1", "2"),
            handover("client1", 3.5, "2", "3"),
            joined("client1", 3.1, 3.6, SECOND),
        ],
    )

    assert first["service_seconds"] == second["service_seconds"] == ""


def test_abandoned_updates_belong_to_the_handover_that_left_their_server(tmp_path: Path) -> None:
    first, second = _handovers(
        tmp_path,
        [
            handover("client1", 3.0, "12", "2"),
            handover("client1", 8.0, "2", "3"),
            note("client1", "abandoned", 2.9, FIRST),  # before any handover
            note("client1", "abandoned", 3.0, FIRST),
            note("client1", "abandoned", 3.1, SECOND),  # not left: something else cost it
            note("client1", "abandoned", 8.0, SECOND),
            note("client1", "abandoned", 9.0, SECOND),
            note("client2", "abandoned", 9.0, SECOND),
        ],
    )

    assert (first["abandoned"], second["abandoned"]) == ("1", "2")


def test_resent_updates_belong_to_the_handover_that_came_back(tmp_path: Path) -> None:
    away, back = _handovers(
        tmp_path,
        [
            handover("client1", 3.0, "1", "2"),
            handover("client1", 8.0, "2", "1"),
            note("client1", "resent", 8.4, FIRST),
        ],
    )

    assert (away["resent"], back["resent"]) == ("0", "1")


def test_a_run_without_handovers_or_members_has_no_files_of_them(tmp_path: Path) -> None:
    write_moving(tmp_path, moving_plan([[FIRST]]), [])

    finish(tmp_path, FACTS)

    assert not (tmp_path / "handovers.csv").exists()
    assert not (tmp_path / "membership.csv").exists()


# membership.csv


def _membership(directory: Path, events: list[Fields]) -> list[dict[str, str]]:
    write_moving(directory, moving_plan([[FIRST], [FIRST, SECOND], [SECOND]]), events)
    finish(directory, FACTS)
    return _table(directory / "membership.csv")


def _counts(row: dict[str, str]) -> tuple[int, int]:
    return int(row["alone"]), int(row["shared"])


def test_members_are_told_apart_by_how_many_servers_they_hear(tmp_path: Path) -> None:
    first, second = _membership(
        tmp_path,
        [
            members(FIRST, 1, 0.0, ["client1", "client2"]),
            members(SECOND, 1, 0.5, ["client2", "client3"]),
        ],
    )

    assert (first["edge"], first["members"], _counts(first)) == (FIRST, "client1 client2", (1, 1))
    assert (second["round"], second["local_round"], _counts(second)) == ("1", "1", (1, 1))


def test_handovers_change_who_is_shared_from_then_on(tmp_path: Path) -> None:
    both = ["client1", "client2"]
    rows = _membership(
        tmp_path,
        [
            *(members(FIRST, n, start, both) for n, start in enumerate((0.0, 5.0, 9.0), 1)),
            handover("client1", 4.0, "1", "13"),
            handover("client2", 8.0, "12", "1"),
        ],
    )

    assert [_counts(row) for row in rows] == [(1, 1), (0, 2), (1, 1)]


def test_both_sides_are_heard_while_the_old_link_is_kept(tmp_path: Path) -> None:
    kept = handover("client1", 4.0, "1", "2", mode="make-before-break") | {"end": 6.0}
    starts = (3.0, 5.0, 7.0)

    rows = _membership(
        tmp_path, [kept, *(members(FIRST, n, at, ["client1"]) for n, at in enumerate(starts))]
    )

    assert [_counts(row) for row in rows] == [(1, 0), (0, 1), (1, 0)]


def test_arrived_counts_the_updates_of_that_round_at_that_server(tmp_path: Path) -> None:
    def upload(client: str, edge: str, round: int, end: float) -> Fields:
        return event(client, "upload", round, end - 1, end, peer=edge, local_round=round, bytes=9)

    rows = _membership(
        tmp_path,
        [
            members(FIRST, 1, 0.0, ["client1", "client2"]),
            members(FIRST, 2, 10.0, ["client1", "client2"]),
            members(FIRST, 2, 20.0, ["client1"]),  # begun again: it had crashed
            upload("client1", FIRST, 1, 5.0),
            upload("client2", FIRST, 1, 6.0),
            upload("client2", SECOND, 1, 6.0),
            upload("client1", FIRST, 2, 15.0),
            upload("client1", FIRST, 2, 25.0),
        ],
    )

    assert [row["arrived"] for row in rows] == ["2", "1", "1"]


# The summary, the terminal's table, and the reports that know nothing of all this


def _eventful(directory: Path) -> Summary:
    events = [
        handover("client1", 3.0, "1", "2"),
        joined("client1", 3.1, 3.6, SECOND),
        handover("client2", 4.0, "1", "12"),
        handover("client3", 5.0, "1", "2"),  # never welcomed
        note("client1", "abandoned", 3.0, FIRST),
        note("client3", "abandoned", 20.0, SECOND),  # at a crash, long after
        note("client1", "resent", 30.0, SECOND),
        event("cell2", "outage", 1, 6.0, 8.0),
        event("client3", "crash", 1, 20.0, 20.0),
    ]
    write_moving(directory, moving_plan([[FIRST]] * 3), events)
    return finish(directory, FACTS)


def test_the_summary_counts_what_happened(tmp_path: Path) -> None:
    _eventful(tmp_path)

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [summary[key] for key in HANDOVER_KEYS] == [3, 0.3, 2, 1, 1, 1, 0]
    assert "happened" not in summary


def test_a_run_without_a_timeline_has_no_such_keys(tmp_path: Path) -> None:
    write_moving(tmp_path, moving_plan([[FIRST]], timeline=()), [])

    finish(tmp_path, FACTS)

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert list(summary)[-1] == "failure"
    assert not {*HANDOVER_KEYS, "happened"} & set(summary)


def test_a_timeline_that_did_nothing_counts_nothing(tmp_path: Path) -> None:
    write_moving(tmp_path, moving_plan([[FIRST]], timeline=(), walk=WALK), [])

    shown = _shown(finish(tmp_path, FACTS))

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [summary[key] for key in HANDOVER_KEYS] == [0, None, 0, 0, 0, 0, 0]
    assert "Handovers" not in shown and "Breakdowns" not in shown


def test_the_table_has_a_row_for_handovers_and_one_for_breakdowns(tmp_path: Path) -> None:
    shown = " ".join(_shown(_eventful(tmp_path)).replace("│", " ").split())

    assert "Handovers 3, 0.30 s without service on average; 2 updates abandoned, 1 resent" in shown
    assert "Breakdowns 1 outage, 1 crash" in shown


def test_updates_lost_without_any_handover_are_said_with_the_breakdowns(tmp_path: Path) -> None:
    crash = event("client1", "crash", 1, 1.0, 1.0)
    write_moving(
        tmp_path, moving_plan([[FIRST]]), [crash, note("client1", "abandoned", 1.0, FIRST)]
    )

    shown = " ".join(_shown(finish(tmp_path, FACTS)).replace("│", " ").split())

    assert "Breakdowns 0 outages, 1 crash; 1 update abandoned, 0 resent" in shown


def test_what_happened_does_not_change_where_a_rounds_time_went(tmp_path: Path) -> None:
    """Whatever no phase of the chain covers is still waiting, and rounds stay rounds."""
    work = [
        event("client1", "download", 1, 0.0, 1.0, local_round=1, peer=THIRD, bytes=9),
        event("client1", "compute", 1, 1.0, 5.0, local_round=1, peer=THIRD),
        event("client1", "upload", 1, 5.0, 7.0, local_round=1, peer=THIRD, bytes=9),
        event(THIRD, "aggregate", 1, 9.0, 10.0, local_round=1),
    ]
    happened = [
        members(THIRD, 1, 0.0, ["client1", "client2"]),
        handover("client2", 6.0, "3", "1", position=[1.0, 2.0]),
        note("client2", "left", 6.0, THIRD, stage="training"),
        note("client2", "abandoned", 6.0, THIRD),
        note("client2", "resent", 9.5, THIRD),
        joined("client2", 6.1, 6.9, FIRST),
        event(FIRST, "empty", 1, 0.0, 6.9, local_round=1),
        event("client2", "leg", 1, 0.0, 900.0, **{"from": [0.0, 0.0], "to": [9.0, 9.0]}),
        event("client2-cell1", "link", 1, 2.0, 2.0, profile="3g"),
        event("cell1", "outage", 1, 2.0, 4.0),
        event("client3", "crash", 1, 2.0, 2.0),
        event("client3", "restart", 1, 3.0, 3.0),
    ]
    rows = []
    for name, events in (("plain", work), ("eventful", work + happened)):
        (tmp_path / name).mkdir()
        write_moving(tmp_path / name, moving_plan([[THIRD]] * 3), events, rounds=1)
        finish(tmp_path / name, FACTS)
        rows.append(_table(tmp_path / name / "rounds.csv"))

    assert rows[0] == rows[1]
    assert [float(rows[1][1][phase]) for phase in PHASES] == [1.0, 4.0, 2.0, 2.0, 1.0]
