"""Plans cross into the guest as JSON, and come back with their types."""

import dataclasses
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.links import LinkSpec, Shape
from contracts.plan import CellPlan, Limits, NodeSpec, Plan
from contracts.project import ROOT
from contracts.timeline import (
    CrashEvent,
    HandoverEvent,
    LinkChangeEvent,
    OutageEvent,
    RestartEvent,
    Walk,
)
from contracts.traces import Row, Trace
from contracts.traffic import Flow
from contracts.training import TrainingSettings
from tests.support.scenario_trees import planned, tree_scenario
from tests.support.timelines import (
    CRASH,
    HANDOVER,
    LINK,
    OUTAGE,
    RESTART,
    plan_of,
    walking,
    with_events,
)

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(max_size=8)
NAME_TUPLES = st.lists(NAMES, max_size=3).map(tuple)
INTEGER_TUPLES = st.lists(st.integers(0, 99), max_size=3).map(tuple)
NUMBER_TUPLES = st.lists(NUMBERS, max_size=3).map(tuple)
PLAIN = st.dictionaries(NAMES, st.none() | st.booleans() | NUMBERS | NAMES, max_size=3)

SHAPES = st.builds(
    Shape,
    rate=st.none() | NUMBERS,
    delay=NUMBERS,
    jitter=NUMBERS,
    loss=NUMBERS,
    queue=st.integers(),
)
LINKS = st.builds(LinkSpec, up=st.none() | SHAPES, down=st.none() | SHAPES)
NODES = st.builds(
    NodeSpec,
    children=NAME_TUPLES,
    addresses=st.dictionaries(NAMES, NAMES, max_size=3),
    seconds_per_step=NUMBERS,
    memory_bytes_per_second=NUMBERS,
    others=st.lists(st.tuples(NAMES, NAMES), max_size=2).map(tuple),
    extra_seconds=NUMBER_TUPLES,
)
TRAINING = st.builds(
    TrainingSettings,
    learning_rate=NUMBERS,
    learning_rate_decay=NUMBERS,
    learning_rate_drops=INTEGER_TUPLES,
    momentum=NUMBERS,
    weight_decay=NUMBERS,
)
LIMITS = st.builds(
    Limits, join=NUMBERS, round=NUMBERS, patience=st.none() | NUMBERS, quorum=NUMBERS
)
CELLS = st.builds(
    CellPlan,
    edges=NAME_TUPLES,
    main_classes=st.dictionaries(NAMES, INTEGER_TUPLES, max_size=3),
    rho=NUMBER_TUPLES,
)
EVENTS = st.one_of(
    st.builds(HandoverEvent, at=NUMBERS, to=NAME_TUPLES, interruption=NUMBERS, hold=NUMBERS),
    st.builds(LinkChangeEvent, at=NUMBERS, links=NAME_TUPLES, up=SHAPES, down=SHAPES),
    st.builds(OutageEvent, at=NUMBERS, until=NUMBERS, links=NAME_TUPLES),
    st.builds(CrashEvent, at=NUMBERS),
    st.builds(RestartEvent, at=NUMBERS),
)
WALKS = st.builds(
    Walk,
    speed=NUMBERS,
    dwell=NUMBERS,
    spacing=NUMBERS,
    radius=NUMBERS,
    interruption=NUMBERS,
    hold=NUMBERS,
    homes=st.lists(INTEGER_TUPLES, max_size=3).map(tuple),
)
ROWS = st.builds(
    Row, at=NUMBERS, rate_up=NUMBERS, rate_down=NUMBERS, delay=st.none() | NUMBERS, loss=NUMBERS
)
TRACES = st.builds(Trace, seconds=NUMBERS, rows=st.lists(ROWS, max_size=3).map(tuple))
FLOWS = st.builds(
    Flow,
    rate=NUMBERS,
    on=st.none() | NUMBERS,
    off=st.none() | NUMBERS,
    start=NUMBERS,
    until=st.none() | NUMBERS,
)
PLANS = st.builds(
    Plan,
    nodes=st.lists(NODES, max_size=2).map(tuple),
    links=st.lists(LINKS, max_size=2).map(tuple),
    topology_numbers=PLAIN,
    settings=PLAIN,
    training=TRAINING,
    limits=LIMITS,
    tensors=st.dictionaries(
        NAMES, st.tuples(st.sampled_from(["float32", "int64"]), INTEGER_TUPLES), max_size=3
    ),
    cells=st.none() | CELLS,
    timeline=st.lists(EVENTS, max_size=3).map(tuple),
    walk=st.none() | WALKS,
    traces=st.dictionaries(NAMES, TRACES, max_size=2),
    traffic=st.lists(FLOWS, max_size=2).map(tuple),
)


@given(PLANS)
@settings(max_examples=50)
def test_any_plan_comes_back_from_json_as_it_was(plan: Plan) -> None:
    assert Plan.from_json(plan.to_json()) == plan


def test_a_real_plan_comes_back_from_json_as_it_was() -> None:
    plan = planned(tree_scenario())

    assert Plan.from_json(plan.to_json()) == plan


def test_a_real_timeline_comes_back_from_json_as_it_was() -> None:
    plan = plan_of(with_events(HANDOVER, LINK, OUTAGE, CRASH, RESTART))

    again = Plan.from_json(plan.to_json())

    assert again == plan
    assert len({type(event) for event in again.timeline}) == 5


def test_a_real_walk_comes_back_from_json_as_it_was() -> None:
    plan = plan_of(walking())

    again = Plan.from_json(plan.to_json())

    assert again == plan
    assert again.walk is not None and again.cells is not None


def test_plan_json_has_plain_keys_for_its_typed_parts() -> None:
    tree = json.loads(plan_of(walking(events=(CRASH,))).to_json())

    assert tree["timeline"] == [{"at": 4.0, "event": "crash", "node": "client3"}]
    assert tree["limits"]["late"] == "abort"
    assert tree["training"]["batch_size"] == 10
    assert tree["cells"]["edges"] == ["edge1", "edge2", "edge3"]
    assert tree["cells"]["global"] is False
    assert tree["walk"]["homes"][3] == [0, 1]


@pytest.mark.parametrize("missing", ["nodes", "links", "limits", "training"])
def test_a_plan_without_a_needed_part_is_not_read(missing: str) -> None:
    tree = json.loads(planned(tree_scenario()).to_json())
    del tree[missing]

    with pytest.raises(KeyError, match=missing):
        Plan.from_json(json.dumps(tree))


@pytest.mark.parametrize("key", [field.name for field in dataclasses.fields(Plan)])
def test_every_key_of_a_plan_stands_in_its_documentation(key: str) -> None:
    page = ROOT / "docs" / "plan.md"
    keys = [row.split("|")[1] for row in page.read_text().splitlines() if row.startswith("| `")]

    assert any(f"`{key}`" in names for names in keys)


def test_importing_the_plan_loads_no_heavy_package() -> None:
    heavy = ("pydantic", "torch", "matplotlib", "mininet")
    code = f"import sys, contracts.plan; print([name for name in {heavy} if name in sys.modules])"

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert found.stdout.strip() == "[]"
