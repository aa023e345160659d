"""Holds lines of events.jsonl against what contracts/events.py says of their phase."""

from collections.abc import Mapping
from typing import Any

from contracts.events import KEYS, OPTIONAL, EventFields, Phase

_COMMON = EventFields.__required_keys__


def assert_as_specified(line: Mapping[str, Any]) -> None:
    """All the keys of its phase and no others; an aggregate may have its method's decisions."""
    phase = Phase(line["phase"])
    own = line.keys() - _COMMON
    needed = KEYS[phase] - OPTIONAL.get(phase, frozenset())
    assert line.keys() >= _COMMON | needed, line
    if phase != Phase.AGGREGATE:
        assert own <= KEYS[phase], line
