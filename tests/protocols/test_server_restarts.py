"""A top server that is restarted from what it kept goes on exactly as if nothing had happened."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.messages import SAMPLES, Kind
from protocols import registry
from protocols.base import Facts, Package, Server, Tensors
from protocols.streaming import STALENESS
from protocols.wire import Message, read_file, write_file

METHODS = sorted(set(registry.PROTOCOLS) - {"solo"})


def weights(seed: int) -> Tensors:
    draw = np.random.default_rng(seed)
    return {"weight": draw.normal(size=(4, 3)).astype(np.float32), "bias": np.ones(4, np.float32)}


def server(name: str) -> Server:
    method = registry.method(name)
    made: Server = method.Server(method.Settings(rounds=4), weights(0))
    made.facts = Facts(clients=3, sampled=2, samples=60, server_samples=10, batch_size=10)
    return made


def hold_round(made: Server, number: int) -> dict[str, Any]:
    shapes = {name: ("float32", tensor.shape) for name, tensor in weights(0).items()}
    for place, child in enumerate(("client1", "client2")):
        draw = np.random.default_rng(10 * number + place)
        update = {
            name: draw.normal(size=shape).astype(kind)
            for name, (kind, shape) in made.update_shapes(shapes).items()
        }
        made.add(child, Package({SAMPLES: 20 + place, "cells": 1, STALENESS: place}, update))
    return made.finish()


@pytest.mark.parametrize("name", METHODS)
def test_the_next_round_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    never_crashed, restarted = server(name), server(name)
    for number in (1, 2):
        hold_round(never_crashed, number)
    state = never_crashed.state_to_keep()
    kept = Message(Kind.CHECKPOINT, "cloud", 2, state.meta, state.tensors)
    write_file(tmp_path / "kept", kept)

    read = read_file(tmp_path / "kept")
    restarted.restore_state(Package(read.meta, read.tensors))

    assert hold_round(restarted, 3) == hold_round(never_crashed, 3)
    ours, theirs = (made.outgoing("client1") for made in (restarted, never_crashed))
    assert ours.meta == theirs.meta
    assert ours.tensors.keys() == theirs.tensors.keys()
    assert all((ours.tensors[key] == theirs.tensors[key]).all() for key in ours.tensors)
