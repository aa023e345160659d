"""Checks lines of events.jsonl against the specification in contracts/events.py."""

from collections.abc import Mapping
from typing import Any

from contracts.events import KEYS, OPTIONAL, EventFields, Phase

_COMMON = EventFields.__required_keys__


def assert_as_specified(line: Mapping[str, Any]) -> None:
    """Require all keys of the line's phase and no others.

    An aggregate may have its method's decisions besides.
    """
    phase = Phase(line["phase"])
    own = line.keys() - _COMMON
    needed = KEYS[phase] - OPTIONAL.get(phase, frozenset())
    assert line.keys() >= _COMMON | needed, line
    if phase != Phase.AGGREGATE:
        assert own <= KEYS[phase], line
