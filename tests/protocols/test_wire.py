"""The wire format carries arrays without copies and refuses everything it should, by name."""

import msgpack
import numpy as np
import pytest
import zmq

from protocols.wire import REASONS, VERSION, Expected, Message, Refused, decode, encode
from protocols.wire.checks import WHOLE_BYTES
from protocols.wire.header import MAX_HEADER_BYTES, MAX_TENSORS
from tests.support.wire_messages import ANY, same, update


def header_fields(frames: list[bytes | memoryview]) -> list[object]:
    """A header as the list it is, to spoil one field of it."""
    fields: list[object] = msgpack.unpackb(frames[0])
    return fields


def refusal(frames: list[bytes | memoryview], expected: Expected = ANY) -> Refused:
    """How decode refuses these frames."""
    with pytest.raises(Refused) as caught:
        decode(frames, expected)
    assert caught.value.reason in REASONS
    return caught.value


@pytest.mark.parametrize("parameters", [62_000, 2_200_000, 11_200_000])
def test_models_of_every_size_come_back_as_they_were(parameters: int) -> None:
    values = np.arange(parameters, dtype=np.float32)
    message = update(big=values[:-500], small=values[-500:].reshape(50, 10))

    received = decode(encode(message), ANY)

    same(message, received)


@pytest.mark.parametrize(
    "array",
    [
        np.array(3, np.int64),
        np.zeros((0, 4), np.float32),
        np.array([1.5, -2], np.float16),
        np.array([1e300], np.float64),
        np.array([1, -1], np.int32),
        np.array([[0, 255]], np.uint8),
        np.array([True, False]),
        np.array([3e38, 3e38], np.float32),  # finite though its squares are not
        np.array([1, 2], np.longlong),
    ],
    ids=str,
)
def test_every_carried_type_and_odd_shape_comes_back(array: np.ndarray) -> None:
    message = update(x=array)

    same(message, decode(encode(message), ANY))


def test_sent_frames_are_the_arrays_own_memory() -> None:
    array = np.ones((300, 400), np.float32)

    frame = encode(update(x=array))[1]

    assert np.shares_memory(np.frombuffer(frame, np.float32), array)


def test_received_arrays_are_views_on_the_frames_and_read_only() -> None:
    frames = encode(update(x=np.ones((300, 400), np.float32)))
    arrived = [bytearray(frame) for frame in frames]

    array = decode(arrived, ANY).tensors["x"]

    assert np.shares_memory(array, np.frombuffer(arrived[1], np.uint8))
    assert not array.flags.writeable


@pytest.mark.parametrize(
    "array", [np.arange(12.0).reshape(3, 4).T, np.arange(10.0)[::2], np.arange(3, dtype=">f4")]
)
def test_strided_and_byte_swapped_arrays_are_sent_in_plain_order(array: np.ndarray) -> None:
    received = decode(encode(update(x=array)), ANY).tensors["x"]

    np.testing.assert_array_equal(received, array)


def test_a_message_crosses_zeromq_and_its_tensors_are_views_on_the_zeromq_frames() -> None:
    message = update(x=np.arange(100_000, dtype=np.float32), y=np.ones(3, np.float32))
    with zmq.Context() as context:
        with context.socket(zmq.PUSH) as sender, context.socket(zmq.PULL) as receiver:
            port = receiver.bind_to_random_port("tcp://127.0.0.1")
            sender.connect(f"tcp://127.0.0.1:{port}")
            sender.send_multipart(encode(message), copy=False)
            assert receiver.poll(5000)
            buffers = [frame.buffer for frame in receiver.recv_multipart(copy=False)]

        received = decode(buffers, ANY)

        same(message, received)
        assert np.shares_memory(received.tensors["x"], np.frombuffer(buffers[1], np.uint8))


def test_what_is_expected_is_accepted() -> None:
    expected = Expected(
        frozenset({"update"}), 2, {"fc.weight": ("float32", (2, 3)), "seen": ("int64", ())}, 10_000
    )

    same(update(), decode(encode(update()), expected))


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        (Expected(kinds=frozenset({"model"})), "kind"),
        (Expected(local_round=3), "round"),
        (Expected(max_bytes=100), "oversize"),
        (Expected(shapes={"fc.weight": ("float32", (2, 3))}), "extra-tensor"),
        (Expected(shapes={"fc.weight": ("float32", (3, 2)), "seen": ("int64", ())}), "shape"),
        (Expected(shapes={"fc.weight": ("float64", (2, 3)), "seen": ("int64", ())}), "dtype"),
        (
            Expected(
                shapes={
                    "fc.weight": ("float32", (2, 3)),
                    "seen": ("int64", ()),
                    "fc.bias": ("float32", (2,)),
                }
            ),
            "missing-tensor",
        ),
    ],
)
def test_what_is_not_expected_is_refused_by_name(expected: Expected, reason: str) -> None:
    refused = refusal(encode(update()), expected)

    assert (refused.reason, refused.sender) == (reason, "client3")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("place", [0, 500, 617, 1000])
def test_one_value_that_is_not_finite_is_refused(value: float, dtype: type, place: int) -> None:
    array: np.ndarray = np.zeros(1001, dtype)
    array[place] = value

    refused = refusal(encode(update(x=array)))

    assert (refused.reason, refused.sender) == ("not-finite", "client3")
    assert "x" in refused.detail


def test_frames_cut_short_or_missing_are_truncated() -> None:
    frames = encode(update())

    assert refusal([frames[0], frames[1][:-1], frames[2]]).reason == "truncated"
    assert refusal(frames[:-1]).reason == "truncated"
    assert refusal(frames[:1]).sender == "client3"
    assert refusal([frames[0][:-1], *frames[1:]]).reason == "truncated"
    assert refusal([b"", *frames[1:]]).reason == "truncated"
    assert refusal([]).reason == "truncated"


def test_frames_too_long_or_too_many_are_refused() -> None:
    frames = encode(update())

    assert refusal([frames[0], bytes(frames[1]) + b"0", frames[2]]).reason == "malformed"
    assert refusal([*frames, b""]).reason == "malformed"
    assert refusal([frames[0], *[b""] * (MAX_TENSORS + 1)]).reason == "oversize"


def test_another_version_is_refused_and_its_sender_still_named() -> None:
    frames = encode(update())
    fields = header_fields(frames)

    refused = refusal([msgpack.packb([VERSION + 1, *fields[1:]]), *frames[1:]])

    assert (refused.reason, refused.sender) == ("version", "client3")


@pytest.mark.parametrize("elements", [100, WHOLE_BYTES // 4 + 1])
def test_a_buffer_of_another_tensor_is_caught_by_the_checksum(elements: int) -> None:
    frames = encode(update(x=np.ones(elements, np.float32), y=np.zeros(elements, np.float32)))

    refused = refusal([frames[0], frames[2], frames[1]])

    assert (refused.reason, refused.sender) == ("checksum", "client3")


@pytest.mark.parametrize("changed", [0, -1])
def test_a_change_at_either_end_of_a_large_tensor_is_caught(changed: int) -> None:
    frames = encode(update(x=np.ones(WHOLE_BYTES, np.float32)))
    spoiled = bytearray(frames[1])
    spoiled[changed] ^= 1

    assert refusal([frames[0], bytes(spoiled)]).reason == "checksum"


def test_truth_values_other_than_zero_and_one_are_refused() -> None:
    frames = encode(update(x=np.array([0, 2], np.uint8)))
    truthful = encode(update(x=np.array([False, True])))
    fields = header_fields(truthful)
    fields[6] = header_fields(frames)[6]

    assert refusal([msgpack.packb(fields), frames[1]]).reason == "malformed"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (0, "1"),
        (0, True),
        (1, 5),
        (1, ""),
        (2, ["client3"]),
        (2, "client\n3"),
        (2, "x" * 1000),
        (3, -1),
        (3, 1.0),
        (3, True),
        (3, 2**40),
        (4, []),
        (4, {"a": b"bytes"}),
        (4, {"a": msgpack.ExtType(5, b"")}),
        (4, {b"a": 1}),
        (4, {"a": [[[[[[[[[[1]]]]]]]]]]}),
        (5, {}),
        (5, b""),
        (5, b"\x91" * 5000),
        (6, []),
        (6, [1, 2, 3]),
    ],
)
def test_a_header_with_one_bad_field_is_refused(field: int, value: object) -> None:
    frames = encode(update())
    fields = header_fields(frames)
    fields[field] = value

    refused = refusal([msgpack.packb(fields), *frames[1:]])

    assert refused.reason in {"malformed", "truncated"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (["x", "float32", [2]], "malformed"),
        (["x", "object", [2], 8], "dtype"),
        (["x", None, [2], 8], "dtype"),
        (["x", "float32", [-2], 8], "shape"),
        (["x", "float32", [True, 2], 8], "shape"),
        (["x", "float32", "2", 8], "shape"),
        (["x", "float32", [1] * 9, 4], "shape"),
        (["x", "float32", [2], 12], "malformed"),
        (["x", "float32", [2**60, 0], 0], "oversize"),
        (["x", "float32", [2**62, 2**62], 8], "oversize"),
        (["\x00", "float32", [2], 8], "malformed"),
    ],
)
def test_a_table_with_one_bad_entry_is_refused(entry: list[object], reason: str) -> None:
    frames = encode(update(x=np.ones(2, np.float32)))
    fields = header_fields(frames)
    fields[5] = msgpack.packb([entry])

    refused = refusal([msgpack.packb(fields), frames[1]])

    assert (refused.reason, refused.sender) == (reason, "client3")


def test_two_tensors_of_one_name_are_refused() -> None:
    frames = encode(update(x=np.ones(2, np.float32)))
    fields = header_fields(frames)
    fields[5] = msgpack.packb([["x", "float32", [2], 8]] * 2)
    fields[6] = [1, 1]

    assert refusal([msgpack.packb(fields), frames[1], frames[1]]).reason == "malformed"


@pytest.mark.parametrize(
    "header",
    [
        b"\xdd\xff\xff\xff\xff",  # an array of four billion
        b"\xdf\xff\xff\xff\xff",  # a map of four billion
        b"\xdb\xff\xff\xff\xff",  # a text of four gigabytes
        b"\xdd\x00\x00\x20\x00" * 2000,  # arrays in arrays, each announced long
        b"\x91" * 100_000,
        bytes(MAX_HEADER_BYTES + 1),
        b"\xc1",
    ],
    ids=["array", "map", "text", "arrays", "nesting", "length", "reserved"],
)
def test_header_bombs_are_refused(header: bytes) -> None:
    assert refusal([header]).reason in {"malformed", "truncated", "oversize"}


def test_a_frame_that_is_no_run_of_bytes_is_refused() -> None:
    frames = encode(update())

    assert refusal([frames[0], memoryview(bytes(48))[::2], frames[2]]).reason == "malformed"


@pytest.mark.parametrize(
    "message",
    [
        Message("", "client3", 0),
        Message("update", "a\nb", 0),
        Message("update", "client3", -1),
        Message("update", "client3", 0, {"loss": float("nan")}),
        Message("update", "client3", 0, {"code": len}),
        Message("update", "client3", 0, {"big": 2**70}),
        Message("update", "client3", 0, {"long": "x" * MAX_HEADER_BYTES}),
        Message("update", "client3", 0, {}, {"x": np.array([1 + 2j])}),
        Message("update", "client3", 0, {}, {"x": np.array(["text"])}),
        Message("update", "client3", 0, {}, {"": np.ones(1)}),
        Message("update", "client3", 0, {}, {"x": np.ones((1,) * 9)}),
    ],
)
def test_what_no_receiver_would_take_is_not_sent(message: Message) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        encode(message)


def test_meta_carries_plain_nested_data() -> None:
    meta = {"a": None, "b": [1, 2.5, "x", True], "c": {"d": {"e": -(2**63)}}}

    assert decode(encode(Message("hello", "edge1", 0, meta)), ANY).meta == meta
