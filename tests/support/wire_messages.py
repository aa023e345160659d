"""Messages for tests of the wire format."""

import numpy as np

from protocols.wire import (
    Expected,
    Message,
)

ANY = Expected()


def update(**tensors: np.ndarray) -> Message:
    """A small update with a weight and a counter, or with the tensors given."""
    weights = {"fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "seen": np.array(7)}
    return Message("update", "client3", 2, {"samples": 600}, tensors or weights)


def same(left: Message, right: Message) -> None:
    assert (left.kind, left.sender, left.local_round) == (
        right.kind,
        right.sender,
        right.local_round,
    )
    assert left.meta == right.meta
    assert list(left.tensors) == list(right.tensors)
    for name, array in left.tensors.items():
        assert array.dtype == right.tensors[name].dtype
        np.testing.assert_array_equal(array, right.tensors[name], strict=True)
