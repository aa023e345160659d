"""One direction of a link as queueing disciplines, and as requests to the kernel."""

import math
import struct
from collections.abc import Iterator

import pytest

from contracts.links import Shape
from netem import requests, shaping

NEW_DISCIPLINE, NEW_CLASS = 36, 40
CREATE = 0x400
BURST_SECONDS = 0.004


def shape(
    rate: float | None = None,
    delay: float = 0,
    jitter: float = 0,
    loss: float = 0,
    queue: int = 100,
) -> Shape:
    return Shape(rate, delay, jitter, loss, queue)


def chain(wanted: Shape) -> list[tuple[str, bool]]:
    """Kind and whether it is a class, from the root to the leaf."""
    parts = shaping.disciplines(wanted, BURST_SECONDS)
    parents = [shaping.ROOT, *(part.handle for part in parts)]
    assert [part.parent for part in parts] == parents[:-1], "each hangs on the one before"
    return [(part.kind, part.is_class) for part in parts]


def leaf_options(wanted: Shape) -> dict[str, float]:
    leaf = shaping.disciplines(wanted, BURST_SECONDS)[-1]
    assert leaf.handle == shaping.LEAF
    return dict(leaf.options)


def sent(batch: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Message type, flags, interface and kind of each request."""
    while batch:
        length, kind, flags = struct.unpack_from("=IHH", batch)
        index = struct.unpack_from("=I", batch, 20)[0]
        name_length = struct.unpack_from("=H", batch, 36)[0]
        yield kind, flags, index, batch[40 : 36 + name_length].rstrip(b"\0").decode()
        batch = batch[(length + 3) & ~3 :]


def test_a_rate_alone_is_htb_with_a_plain_queue() -> None:
    wanted = shape(rate=1e6)

    assert chain(wanted) == [("htb", False), ("htb", True), ("pfifo", False)]
    assert leaf_options(wanted) == {"limit": 100}


@pytest.mark.parametrize("wanted", [shape(delay=0.01), shape(loss=0.1)])
def test_delay_or_loss_alone_is_netem(wanted: Shape) -> None:
    assert chain(wanted) == [("netem", False)]
    assert shaping.needs_netem(wanted)


def test_both_are_netem_under_htb() -> None:
    assert chain(shape(rate=1e6, delay=0.01)) == [("htb", False), ("htb", True), ("netem", False)]


def test_nothing_asked_is_nothing_made() -> None:
    assert chain(shape()) == []
    assert requests.add_shape(7, shape(), BURST_SECONDS) == b""


def test_only_a_rate_needs_no_netem() -> None:
    assert not shaping.needs_netem(shape(rate=1e6))


def test_netem_holds_the_queue_and_what_is_on_its_way() -> None:
    # 12.112 Mbit/s are 1000 frames of 1514 bytes a second; in 50 ms, 50 of them
    assert leaf_options(shape(rate=12.112e6, delay=0.05))["limit"] == 100 + 50


def test_jitter_keeps_frames_longer_on_their_way() -> None:
    assert leaf_options(shape(rate=12.112e6, delay=0.05, jitter=0.01))["limit"] == 100 + 60


def test_netem_without_a_rate_never_drops_for_want_of_room() -> None:
    longest_profile = math.ceil(3e9 * 0.3 / (8 * shaping.FRAME_BYTES))

    assert leaf_options(shape(delay=0.3))["limit"] > longest_profile


def test_netem_has_microseconds_and_percent() -> None:
    options = leaf_options(shape(delay=0.0125, jitter=0.002, loss=0.005))

    assert (options["delay"], options["jitter"]) == (12500, 2000)
    assert options["loss"] == pytest.approx(0.5)


def test_jitter_does_not_reorder_on_a_link_with_a_rate() -> None:
    # netem keeps frames in order only when it has a rate of its own
    assert leaf_options(shape(rate=8e6, delay=0.01, jitter=0.001))["rate"] == 1_000_000
    assert "rate" not in leaf_options(shape(rate=8e6, delay=0.01))


def test_the_rate_is_in_bytes_and_the_bucket_holds_a_frame_at_least() -> None:
    for burst_seconds in (0.0, BURST_SECONDS):
        options = dict(shaping.disciplines(shape(rate=80e6), burst_seconds)[1].options)

        assert options["rate"] == 10_000_000
        assert options["burst"] == options["cburst"] == max(1600, 10_000_000 * burst_seconds)


def test_a_shape_is_created_from_the_root_down() -> None:
    batch = list(sent(requests.add_shape(7, shape(rate=1e6, delay=0.01), BURST_SECONDS)))

    assert [(kind, name) for kind, _, _, name in batch] == [
        (NEW_DISCIPLINE, "htb"),
        (NEW_CLASS, "htb"),
        (NEW_DISCIPLINE, "netem"),
    ]
    assert all(flags & CREATE for _, flags, _, _ in batch)
    assert {index for _, _, index, _ in batch} == {7}


def test_the_same_shape_on_two_interfaces_differs_in_the_interface_alone() -> None:
    wanted = shape(rate=1e6, delay=0.01)

    first, second = (list(sent(requests.add_shape(n, wanted, BURST_SECONDS))) for n in (7, 300))

    assert {index for _, _, index, _ in second} == {300}
    assert [(k, f, name) for k, f, _, name in first] == [(k, f, name) for k, f, _, name in second]


def test_a_change_in_place_touches_the_class_and_netem() -> None:
    batch = list(sent(requests.change_shape(7, shape(rate=2e6, delay=0.02), BURST_SECONDS)))

    assert [(kind, name) for kind, _, _, name in batch] == [
        (NEW_CLASS, "htb"),
        (NEW_DISCIPLINE, "netem"),
    ]
    assert not any(flags & CREATE for _, flags, _, _ in batch)


def test_a_change_in_place_touches_a_plain_queue_too() -> None:
    batch = list(sent(requests.change_shape(7, shape(rate=2e6), BURST_SECONDS)))

    assert [(kind, name) for kind, _, _, name in batch] == [
        (NEW_CLASS, "htb"),
        (NEW_DISCIPLINE, "pfifo"),
    ]


def test_a_netem_that_loses_its_jitter_loses_the_rate_that_came_with_it() -> None:
    still, shaken = (
        requests.change_shape(7, shape(rate=2e6, delay=0.02, jitter=jitter), BURST_SECONDS)
        for jitter in (0.0, 0.01)
    )

    assert len(still) == len(shaken)  # both say a rate: none, or that of the link


@pytest.mark.parametrize("rate", [1e3, 30e9])
@pytest.mark.parametrize("delay", [0, 100])
def test_the_extremes_a_scenario_may_ask_for_fit_into_the_kernels_fields(
    rate: float, delay: float
) -> None:
    assert requests.add_shape(7, shape(rate, delay, delay, 1.0, queue=1_000_000), BURST_SECONDS)
