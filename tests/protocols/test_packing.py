"""Smaller messages: each way of packing by hand, there and back, and what must be refused."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.base import Tensors
from protocols.packing.coding import Coding, unpack
from protocols.packing.lines import ChildEnd, ServerEnd
from protocols.wire import Refused

CODINGS = ["fp16", "int8", "topk:0.25", "topk:0.25+fp16", "topk:0.1+int8"]


def tensors(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def values(made: Tensors) -> list[float]:
    found: list[float] = made["w"].tolist()
    return found


def shapes(made: Tensors) -> dict[str, tuple[int, ...]]:
    return {name: tensor.shape for name, tensor in made.items()}


def test_half_precision_takes_two_bytes_a_number() -> None:
    packed = Coding.parse("fp16").pack(tensors(1.0, 1 / 3, 1e6), [])

    assert packed["w@half"].nbytes == 6
    assert values(unpack(packed, {})) == pytest.approx([1.0, 0.33325195, 65504.0])


def test_eight_bits_are_steps_of_a_127th_of_the_largest() -> None:
    packed = Coding.parse("int8").pack(tensors(-12.7, 0.0, 0.04, 0.06, 6.35), [])

    # steps of 0.1: -127, 0, 0.4, 0.6, 63.5 (to the even 64)
    assert packed["w@byte"].tolist() == [1, 128, 128, 129, 192]
    assert packed["@scales"].tolist() == pytest.approx([0.1])
    assert values(unpack(packed, {})) == pytest.approx([-12.7, 0.0, 0.0, 0.1, 6.4])


def test_only_the_largest_entries_are_kept_with_their_places() -> None:
    change = np.zeros((4, 5), np.float32)
    change[0, 1], change[2, 3], change[3, 4] = -5.0, 3.0, 0.5

    packed = Coding.parse("topk:0.1").pack({"w": change}, ["w"])

    assert packed["w@at"].tolist() == [1, 13] and packed["w"].tolist() == [-5.0, 3.0]
    change[3, 4] = 0
    assert (unpack(packed, {"w": (4, 5)})["w"] == change).all()


def test_what_is_no_change_of_the_model_loses_no_entries() -> None:
    packed = Coding.parse("topk:0.1").pack({"c": np.ones(50, np.float32)}, ["w"])

    assert packed["c"].shape == (50,)


def test_entries_are_all_sent_where_their_places_would_cost_more() -> None:
    assert Coding.parse("topk:0.4").kept(100) == 40
    assert Coding.parse("topk:0.6").kept(100) == 100
    assert Coding.parse("topk:0.3+int8").kept(100) == 100
    assert Coding.parse("topk:0.01").kept(3) == 1
    assert Coding.parse("topk:0.01").kept(0) == 0


def test_other_types_are_left_alone() -> None:
    counts = {"n": np.array([3, 4]), "flag": np.array([True])}

    assert unpack(Coding.parse("int8").pack(counts, []), {}) == counts


@pytest.mark.parametrize("text", CODINGS)
def test_the_shapes_are_known_before(text: str) -> None:
    coding = Coding.parse(text)
    model = {
        "w": np.arange(40, dtype=np.float32).reshape(8, 5),
        "b": np.ones(3, np.float32),
        "n": np.array(7),
    }
    announced = {name: (tensor.dtype.name, tensor.shape) for name, tensor in model.items()}

    packed = coding.pack(model, model)

    found = {name: (tensor.dtype.name, tensor.shape) for name, tensor in packed.items()}
    assert found == coding.packed_shapes(announced, announced)


@pytest.mark.parametrize("text", CODINGS)
@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), max_size=60))
def test_unpacking_never_adds_anything(text: str, numbers: list[float]) -> None:
    sent = tensors(*numbers)

    found = unpack(Coding.parse(text).pack(sent, sent), shapes(sent))

    assert found["w"].shape == sent["w"].shape and found["w"].dtype == np.float32
    assert (
        np.abs(found["w"]) <= np.abs(sent["w"]) * 1.01 + np.abs(sent["w"]).max(initial=0) / 200
    ).all()
    assert np.isfinite(found["w"]).all()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fp8",
        "topk",
        "topk:",
        "topk:0",
        "topk:1.5",
        "topk:x",
        "fp16+int8",
        "int8:2",
        "topk:.1+topk:.1",
        "topk:nan",
    ],
)
def test_what_is_no_packing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no packing|share|two types"):
        Coding.parse(text)


BROKEN: list[tuple[str, Tensors]] = [
    ("places", {"w": np.ones(2, np.float32), "w@at": np.array([0, 20], np.int32)}),
    ("places", {"w": np.ones(2, np.float32), "w@at": np.array([-1, 3], np.int32)}),
    ("places", {"w": np.ones(2, np.float32), "w@at": np.array([3, 3], np.int32)}),
    ("places", {"w": np.ones(2, np.float32), "w@at": np.array([1, 2, 3], np.int32)}),
    ("places", {"v": np.ones(1, np.float32), "v@at": np.array([0], np.int32)}),
    ("scale", {"w@byte": np.ones(20, np.uint8)}),
    ("scale", {"w@byte": np.ones(20, np.uint8), "@scales": np.array([-1], np.float32)}),
    ("scale", {"w@byte": np.ones(20, np.uint8), "@scales": np.array([3e38], np.float32)}),
    ("nothing", {"w": np.ones(20, np.float32), "@scales": np.array([1], np.float32)}),
]


@pytest.mark.parametrize(("says", "message"), BROKEN)
def test_what_packing_cannot_have_made_is_refused(says: str, message: Tensors) -> None:
    with pytest.raises(Refused, match=says):
        unpack(message, {"w": (20,)})


def ends(up: str, down: str = "fp32", of_changes: bool = False) -> tuple[ServerEnd, ChildEnd]:
    codings = Coding.parse(up), Coding.parse(down)
    return ServerEnd(*codings, ["w"], of_changes), ChildEnd(*codings, ["w"], of_changes)


def exchange(
    server: ServerEnd, child: ChildEnd, round: int, model: Tensors, update: Tensors
) -> Tensors:
    base = server.base("client1")
    packed, _ = server.pack("client1", round, model)
    child.unpack(round, base, packed)
    return server.unpack("client1", child.pack(round, update))


def test_an_update_is_packed_as_a_change_of_the_model_it_answers() -> None:
    # of 1000 +- 1, half precision alone would lose everything below 0.5
    arrived = exchange(*ends("fp16"), 1, tensors(1000, 1000), tensors(1000.125, 999.0625))

    assert values(arrived) == [1000.125, 999.0625]


def test_changes_are_packed_as_they_are() -> None:
    arrived = exchange(*ends("int8", of_changes=True), 1, tensors(1000, 1000), tensors(0.5, -1.27))

    assert values(arrived) == pytest.approx([0.5, -1.27])


def test_what_an_update_loses_is_added_to_the_next_one() -> None:
    server, child = ends("topk:0.25")
    model = tensors(0, 0, 0, 0)

    first = exchange(server, child, 1, model, tensors(4, 3, 0, 0))
    second = exchange(server, child, 2, model, tensors(0, 1.5, 2, 0))
    third = exchange(server, child, 3, model, tensors(0, 0, 0, 0))

    # left out: 3 of the first, 2 of the second
    assert [values(update) for update in (first, second, third)] == [
        [4, 0, 0, 0],
        [0, 4.5, 0, 0],
        [0, 0, 2, 0],
    ]


def test_a_packed_model_is_what_updates_are_changes_of() -> None:
    server, child = ends("fp16", "int8")
    packed, _ = server.pack("client1", 1, tensors(1.27, 0.004))
    received = child.unpack(1, None, packed)
    assert values(received) == pytest.approx([1.27, 0.0])

    update = {"w": received["w"] + np.float32(0.25)}
    assert values(server.unpack("client1", child.pack(1, update))) == pytest.approx([1.52, 0.25])


def test_of_a_model_only_the_largest_changes_are_sent_once_a_child_has_one() -> None:
    server, child = ends("fp32", "topk:0.25")
    received = []
    for round, model in enumerate(([1, 2, 3, 4], [1, 2, 3, 9], [1, 7, 3, 9], [1, 7, 3, 9]), 1):
        base = server.base("client1")
        packed, _ = server.pack("client1", round, tensors(*model))
        received.append(values(child.unpack(round, base, packed)))

    assert received == [[1, 2, 3, 4], [1, 2, 3, 9], [1, 7, 3, 9], [1, 7, 3, 9]]
    assert packed["w"].size == 1


def test_a_child_that_joined_anew_is_sent_a_whole_model() -> None:
    server, child = ends("fp32", "topk:0.25")
    child.unpack(1, server.base("client1"), server.pack("client1", 1, tensors(1, 2, 3, 4))[0])

    server.forget("client1")

    assert server.base("client1") is None
    assert server.pack("client1", 2, tensors(5, 6, 7, 8))[0]["w"].tolist() == [5, 6, 7, 8]
    assert server.base("client1") == 2


def test_a_change_of_a_model_that_is_not_here_is_refused() -> None:
    _, child = ends("fp32", "topk:0.25")

    with pytest.raises(Refused, match="not here"):
        child.unpack(5, 4, tensors(1, 2, 3, 4))


def test_children_that_are_sent_the_same_are_packed_for_once() -> None:
    server, _ = ends("topk:0.25", "int8")
    model = tensors(1, 2, 3, 4)

    work: Iterable[bool] = [server.pack(name, 1, dict(model))[1] for name in ("a", "b", "c")]

    assert work == [True, False, False]


def test_an_overflow_is_refused() -> None:
    server, child = ends("topk:0.5")
    packed, _ = server.pack("client1", 1, tensors(3e38, 0, 0, 0))
    child.unpack(1, None, packed)

    with pytest.raises(Refused, match="not finite"):
        server.unpack(
            "client1", {"w": np.array([3e38], np.float32), "w@at": np.array([0], np.int32)}
        )
