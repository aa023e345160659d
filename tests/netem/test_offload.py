"""How many frames a packet may stand for, against numbers worked out by hand."""

import dataclasses

import pytest

from contracts.links import Shape
from netem import offload, requests, shaping

RESNET = 44_700_000  # bytes
LENET = 246_824
FAST = Shape(rate=1e9, delay=0.01, jitter=0.0, loss=0.0, queue=1652)


@pytest.mark.parametrize(
    ("rate", "frames"),
    [
        (1.1e9, 1),  # a model takes 325 ms; 0.35 more are too many
        (1e9, 8),  # 358 ms
        (100e6, 8),  # 8.26 frames last a millisecond
        (96e6, 4),  # 7.93
        (25e6, 2),  # 2.06
        (24e6, 1),  # 1.98
        (1e6, 1),
    ],
)
def test_a_packet_is_short_in_time_and_against_the_model(rate: float, frames: int) -> None:
    assert offload.frames(dataclasses.replace(FAST, rate=rate), RESNET) == frames


def test_small_models_have_one_frame_a_packet() -> None:
    assert {
        offload.frames(dataclasses.replace(FAST, rate=rate), LENET) for rate in (1e6, 1e7, 1e8, 1e9)
    } == {1}


def test_a_link_that_takes_no_time_bears_the_largest_packets() -> None:
    assert offload.frames(None, RESNET) == offload.MOST_FRAMES == 8
    assert offload.frames(dataclasses.replace(FAST, rate=None), RESNET) == 8


def test_a_packet_fills_no_more_than_an_eighth_of_a_queue() -> None:
    assert offload.frames(dataclasses.replace(FAST, queue=64), RESNET) == 8
    assert offload.frames(dataclasses.replace(FAST, queue=63), RESNET) == 4
    assert offload.frames(dataclasses.replace(FAST, queue=1), RESNET) == 1


@pytest.mark.parametrize(
    "harm", [{"jitter": 0.001}, {"loss": 0.001}, {"varies": True}, {"queueing": "fq_codel"}]
)
def test_where_every_frame_has_a_fate_of_its_own_packets_are_frames(harm: dict[str, float]) -> None:
    assert offload.frames(dataclasses.replace(FAST, **harm), RESNET) == 1  # type: ignore[arg-type]


def test_a_queue_for_large_packets_is_one_that_counts_frames() -> None:
    shape = dataclasses.replace(FAST, delay=0.0, queue=100)

    assert [part.kind for part in shaping.disciplines(shape, 0.0)] == ["htb", "htb", "pfifo"]
    leaf = shaping.disciplines(shape, 0.0, frames=8)[-1]
    assert leaf.kind == "netem"
    assert dict(leaf.options)["limit"] == 100


def test_the_host_and_the_port_have_a_limit_each() -> None:
    ends = ("port", 101), ("host", 2)
    plain, limited = (
        requests.create_veth(*ends, "02:4d:00:00:00:01", 1, frames) for frames in ((1, 1), (8, 30))
    )
    differing = [i for i, (a, b) in enumerate(zip(plain, limited, strict=True)) if a != b]

    assert sorted(limited[i] for i in differing) == [8, 30]
