"""Messages on the wire, changed at random, a hundred from each number: taken, or refused."""

from functools import cache
from random import Random
from typing import Any

import msgpack
import numpy as np

from protocols.wire import REASONS, Expected, Message, Refused, decode, encode
from tests.fuzz.bounds import expecting_bad_input, fuzzed
from tests.fuzz.mutations import mutated_bytes, mutated_tree, odd_value

MESSAGES_A_NUMBER = 100
_HEADER_TABLES = (5,)  # fields of the header that are packed themselves


@cache
def valid() -> list[list[bytes]]:
    """Return a few messages as they travel."""
    weights: dict[str, np.ndarray] = {
        "conv.weight": np.linspace(-1, 1, 150, dtype=np.float32).reshape(6, 1, 5, 5),
        "bias": np.zeros(6, np.float16),
        "steps": np.arange(3),
        "empty": np.zeros((0, 4), np.float64),
    }
    found = [
        Message("update", "client1", 3, {"samples": 600, "loss": 0.25}, weights),
        Message("model", "cloud", 2**31 - 1, {"epochs": {"client1": 2}, "of": [1, None]}, weights),
        Message("join", "client2", 0, {"server": "inst1"}, {}),
    ]
    return [[bytes(frame) for frame in encode(message)] for message in found]


EXPECTED = (
    Expected(),
    Expected(frozenset({"update"}), 3, {"bias": ("float16", (6,))}),
)


@fuzzed(gate=30)
def test_a_message_is_taken_or_refused_for_a_known_reason(number: int) -> None:
    chance = Random(number)
    for _ in range(MESSAGES_A_NUMBER):
        frames = spoilt(list(chance.choice(valid())), chance)
        with expecting_bad_input():
            try:
                message = decode(frames, chance.choice(EXPECTED))
            except Refused as refused:
                assert refused.reason in REASONS
                assert refused.sender.isprintable()
            else:
                assert all(np.isfinite(array).all() for array in message.tensors.values())


def spoilt(frames: list[bytes], chance: Random) -> list[bytes]:
    """Return a message with frames lost, doubled or changed, or with other values in its header."""
    what = chance.random()
    if what < 0.1:
        return chance.choices(frames, k=chance.randrange(6))
    if what < 0.4:
        at = chance.randrange(len(frames))
        frames[at] = mutated_bytes(frames[at], chance)
        return frames
    fields = msgpack.unpackb(frames[0])
    if what < 0.7:
        at = chance.choice(_HEADER_TABLES)
        table = msgpack.unpackb(fields[at])
        fields[at] = _packed(mutated_tree(table, chance), chance)
    else:
        fields = mutated_tree(fields, chance)
    frames[0] = _packed(fields, chance)
    return frames


def _packed(value: Any, chance: Random) -> bytes:
    """Pack a value, or another if msgpack cannot say it."""
    while True:
        try:
            packed: bytes = msgpack.packb(value)
            return packed
        except (TypeError, ValueError, OverflowError, RecursionError):
            value = odd_value(chance)
