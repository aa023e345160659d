"""The formats in contracts/ against their specification in docs/, and against each other."""

import dataclasses
import re
from functools import partial
from typing import Any

import msgpack
import pytest

from contracts import messages
from contracts.control import Cells, Failed, Left, Measured, RoundEnded, Start, Word, decode, encode
from contracts.events import KEYS, OPTIONAL, Details, Phase
from contracts.messages import GLOBAL_ROUND, Kind
from contracts.project import ROOT
from protocols.wire import REASONS, Message
from protocols.wire import encode as frames_of
from tests.support.event_lines import assert_as_specified
from tests.support.lines import PATIENCE, aside
from tests.support.stars import stars

DOCS = ROOT / "docs"


def rows(page: str, heading: str) -> dict[str, str]:
    """The tables below a heading of a page: by every name in the first column its rows."""
    text = (DOCS / page).read_text()
    section = re.split(r"^## ", text.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    found: dict[str, str] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
                found[name] = found.get(name, "") + line
    return found


# Messages


def test_every_kind_and_meta_key_is_documented() -> None:
    kinds = rows("wire.md", "The kinds of messages") | rows("wire.md", "Files")
    keys = {value for name, value in vars(messages).items() if name.isupper()}
    text = (DOCS / "wire.md").read_text()

    assert {kind.value for kind in Kind} - {Kind.GO} <= kinds.keys()
    assert [key for key in keys if f"`{key}`" not in text] == []
    assert rows("wire.md", "What is refused").keys() == REASONS


def test_the_global_rounds_key_takes_no_more_bytes_than_it_ever_did() -> None:
    assert len(GLOBAL_ROUND) == len("iteration")


def test_a_kind_travels_as_a_plain_text() -> None:
    [header] = frames_of(Message(Kind.MODEL, "cloud", 3, {GLOBAL_ROUND: 2}))

    assert msgpack.unpackb(header)[1:5] == ["model", "cloud", 3, {"for_round": 2}]


# Control words


@pytest.mark.parametrize(
    "said",
    [
        Start(),
        Start(restarted=2),
        Measured(0.05, 1e6, float("inf")),
        RoundEnded(3, 12.5),
        Cells(["edge1"], [], 7),
        Left("client1", 8),
        Failed("two\nlines"),
    ],
)
def test_a_word_comes_back_as_it_was_said(said: Word) -> None:
    line = encode(said)

    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line) == said


@pytest.mark.parametrize(
    "line",
    [
        b'{"is": "hello"}',
        b'{"round": 3}',
        b'{"is": "round", "round": 3}',
        b'{"is": "ready", "more": 1}',
        b'["ready"]',
        b"ready",
    ],
)
def test_what_is_no_word_is_an_error(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)


def test_every_word_is_documented_with_its_fields() -> None:
    documented = rows("wire.md", "The control line")
    text = (DOCS / "wire.md").read_text()

    for kind in Word.__subclasses__():
        if kind.__name__ in ("Ping", "Pinged", "Gather", "Send", "Gathered"):
            assert f"`{kind.word}`" in text
            continue
        fields = {field.name for field in dataclasses.fields(kind)}
        assert {name for name in fields if f"`{name}`" not in documented[kind.word]} == set()


# Events


def test_every_phase_has_keys_that_a_line_may_have() -> None:
    assert KEYS.keys() == set(Phase)
    assert frozenset().union(*KEYS.values()) == Details.__optional_keys__
    assert all(keys <= KEYS[phase] for phase, keys in OPTIONAL.items())


def test_every_phase_is_documented_with_its_keys() -> None:
    documented = rows("records.md", "events.jsonl")

    for phase, keys in KEYS.items():
        assert {key for key in keys if f"`{key}`" not in documented[phase]} == set(), phase
    assert Details.__optional_keys__ <= documented.keys()


@pytest.mark.parametrize(
    "line",
    [
        {"phase": "wait", "local_round": 1, "number": 1},
        {"phase": "wait"},
        {"phase": "deadline", "missing": [], "peer": "cloud"},
        {"phase": "compute", "local_round": 1, "modelled": 1.0, "epochs": 1},
    ],
)
def test_a_line_with_other_keys_is_found_out(line: dict[str, Any]) -> None:
    common = {"node": "client1", "round": 1, "start": 0.0, "end": 1.0}

    with pytest.raises(AssertionError):
        assert_as_specified({**common, **line})


def test_a_server_writes_lines_as_specified() -> None:
    with stars() as build:
        star = build(2)
        star.join("client1", "client2")
        answers = [aside(partial(star.answer, name, 1)) for name in ("client1", "client2")]
        star.server.run(1, 1)
        for answer in answers:
            answer.result(PATIENCE)
        events = star.listener.events()

    for event in events:
        assert_as_specified(event)
    assert {event["phase"] for event in events} >= {Phase.UPLOAD, Phase.WAIT, Phase.AGGREGATE}
