"""How many frames a packet may stand for, against numbers worked out by hand."""

import dataclasses

import pytest

from contracts.links import Shape
from netem import offload, shaping

RESNET = 44_700_000  # bytes
LENET = 246_824
FAST = Shape(rate=1e9, delay=0.01, jitter=0.0, loss=0.0, queue=1652)


@pytest.mark.parametrize(
    ("rate", "frames"),
    [
        (1e9, 8),  # 16.5 frames last 0.2 ms, and are too many
        (485e6, 8),  # 8.007 frames last 0.2 ms
        (484e6, 1),  # 7.99
        (100e6, 1),
        (1e6, 1),
    ],
)
def test_a_packet_is_short_in_time(rate: float, frames: int) -> None:
    assert offload.frames(dataclasses.replace(FAST, rate=rate)) == frames


def test_a_third_of_a_millisecond_is_little_for_large_models_only() -> None:
    assert offload.small_enough(RESNET, 1e9)  # 358 ms
    assert not offload.small_enough(RESNET, 1.1e9)  # 325 ms
    assert offload.small_enough(LENET, 5e6)  # 395 ms; but a frame takes 2.4 of them
    assert not offload.small_enough(LENET, 6e6)


def test_a_link_that_takes_no_time_bears_the_largest_packets() -> None:
    assert offload.frames(None) == offload.MOST_FRAMES == 8
    assert offload.frames(dataclasses.replace(FAST, rate=None)) == 8


def test_a_packet_fills_no_more_than_an_eighth_of_a_queue() -> None:
    assert offload.frames(dataclasses.replace(FAST, queue=64)) == 8
    assert offload.frames(dataclasses.replace(FAST, queue=63)) == 1


@pytest.mark.parametrize(
    "harm", [{"jitter": 0.001}, {"loss": 0.001}, {"varies": True}, {"queueing": "fq_codel"}]
)
def test_where_every_frame_has_a_fate_of_its_own_packets_are_frames(harm: dict[str, float]) -> None:
    assert offload.frames(dataclasses.replace(FAST, **harm)) == 1  # type: ignore[arg-type]


def test_a_queue_for_large_packets_is_one_that_counts_frames() -> None:
    shape = dataclasses.replace(FAST, delay=0.0, queue=100)

    assert [part.kind for part in shaping.disciplines(shape, 0.0)] == ["htb", "htb", "pfifo"]
    leaf = shaping.disciplines(shape, 0.0, frames=8)[-1]
    assert leaf.kind == "netem"
    assert dict(leaf.options)["limit"] == 100
