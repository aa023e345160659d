"""Whatever bytes arrive, decode returns a message or refuses; it never fails another way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from protocols.wire import (
    REASONS,
    Expected,
    Message,
    Refused,
    decode,
    encode,
    read_file,
    write_file,
)
from protocols.wire.checks import all_finite
from protocols.wire.header import DTYPES

FLOATS: list[np.dtype[Any]] = [DTYPES[name] for name in ("float16", "float32", "float64")]

names = st.text("abc.0_/é", min_size=1, max_size=8)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
tensors = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda dtype: arrays.arrays(
        DTYPES[dtype],
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements=arrays.from_dtype(DTYPES[dtype], allow_nan=False, allow_infinity=False),
    )
)
messages = st.builds(
    Message,
    kind=names,
    sender=names,
    local_round=st.integers(0, 2**31 - 1),
    meta=st.dictionaries(st.text(max_size=3), plain, max_size=3),
    tensors=st.dictionaries(names, tensors, max_size=3),
)
# Nested data of every type msgpack knows, also those that are never sent.
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=3)),
    lambda inner: (
        st.lists(inner, max_size=7)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=12,
)

# A loaded machine is no failure of the wire; a file is written over in every example.
patient = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def accepted_or_refused(frames: Sequence[bytes], expected: Expected) -> None:
    try:
        message = decode(frames, expected)
    except Refused as refused:
        assert refused.reason in REASONS
        assert refused.sender.isprintable()
    else:
        for array in message.tensors.values():
            assert np.isfinite(array).all()


@patient
@given(messages)
def test_every_message_comes_back_as_it_was(message: Message) -> None:
    received = decode([bytes(frame) for frame in encode(message)], Expected())

    assert (received.kind, received.sender) == (message.kind, message.sender)
    assert (received.local_round, received.meta) == (message.local_round, message.meta)
    assert list(received.tensors) == list(message.tensors)
    for name, array in message.tensors.items():
        np.testing.assert_array_equal(received.tensors[name], array, strict=True)


@patient
@given(messages, st.data())
def test_a_valid_message_with_bytes_changed_cut_or_added(
    message: Message, data: st.DataObject
) -> None:
    frames = [bytearray(frame) for frame in encode(message)]
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        frame = frames[data.draw(st.integers(0, len(frames) - 1), "frame")]
        position = data.draw(st.integers(0, len(frame)), "position")
        change = data.draw(st.sampled_from(["set", "cut", "insert"]), "change")
        byte = data.draw(st.integers(0, 255), "byte")
        if change == "set" and position < len(frame):
            frame[position] = byte
        elif change == "cut":
            del frame[position:]
        else:
            frame.insert(position, byte)

    accepted_or_refused([bytes(frame) for frame in frames], Expected())


@patient
@given(messages, st.data())
def test_a_valid_message_with_frames_dropped_doubled_or_shuffled(
    message: Message, data: st.DataObject
) -> None:
    frames = [bytes(frame) for frame in encode(message)]

    chosen = data.draw(st.lists(st.sampled_from(frames), max_size=6))

    accepted_or_refused(chosen, Expected())


@patient
@given(st.lists(st.binary(max_size=60), max_size=4))
def test_random_frames(frames: list[bytes]) -> None:
    accepted_or_refused(frames, Expected())


@patient
@given(messages, st.integers(0, 6), anything)
def test_a_header_with_a_field_replaced_by_anything(
    message: Message, field: int, value: object
) -> None:
    frames = [bytes(frame) for frame in encode(message)]
    fields = msgpack.unpackb(frames[0])
    fields[field] = value

    accepted_or_refused([msgpack.packb(fields), *frames[1:]], Expected())


@patient
@given(messages, anything)
def test_a_header_with_any_table_of_tensors(message: Message, table: object) -> None:
    frames = [bytes(frame) for frame in encode(message)]
    fields = msgpack.unpackb(frames[0])
    fields[5] = msgpack.packb(table)

    accepted_or_refused([msgpack.packb(fields), *frames[1:]], Expected())


@patient
@given(
    arrays.arrays(
        st.sampled_from(FLOATS),
        st.integers(0, 40),
        elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 6e4, 1e-8, np.inf, -np.inf, np.nan]),
        fill=st.nothing(),
    )
)
def test_the_quick_finite_check_agrees_with_the_slow_one(array: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        assert all_finite(array) == np.isfinite(array).all()


@patient
@given(messages, messages)
def test_a_message_is_accepted_only_by_who_expects_it(sent: Message, wanted: Message) -> None:
    shapes = {name: (array.dtype.name, array.shape) for name, array in wanted.tensors.items()}
    expected = Expected(frozenset({wanted.kind}), wanted.local_round, shapes)
    frames = [bytes(frame) for frame in encode(sent)]

    accepted_or_refused(frames, expected)
    if (sent.kind, sent.local_round) != (wanted.kind, wanted.local_round):
        with pytest.raises(Refused):
            decode(frames, expected)


@patient
@given(messages, st.data())
def test_a_file_with_a_byte_changed(tmp_path: Path, message: Message, data: st.DataObject) -> None:
    path = tmp_path / "a.model"
    write_file(path, message)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)

    try:
        read_file(path)
    except Refused as refused:
        assert refused.reason in REASONS
