"""Several links in a row, as one."""

import pytest

from contracts.links import Hop, LinkSpec, Shape
from contracts.paths import end_to_end

SLOW = Shape(rate=1e6, delay=0.010, jitter=0.001, loss=0.1, queue=64)
FAST = Shape(rate=1e9, delay=0.002, jitter=0.0, loss=0.5, queue=1000)
FREE = Shape(rate=None, delay=0.0, jitter=0.0, loss=0.0, queue=100_000)


def test_the_slowest_rate_all_delays_and_what_every_loss_leaves() -> None:
    own = LinkSpec("client1", "wan", "client-cloud", None, up=SLOW, down=FAST)
    server = LinkSpec("cloud", "wan", None, None, up=FREE, down=FAST)

    found = end_to_end([Hop(own), Hop(server, leaves_host=False)])

    assert found is not None
    up, down = found
    assert (up.rate, up.queue) == (1e6, 64)
    assert up.delay == pytest.approx(0.012)
    assert up.loss == pytest.approx(1 - 0.9 * 0.5)
    assert down == FAST


def test_what_is_not_shaped_anywhere_is_no_path() -> None:
    assert end_to_end([Hop(LinkSpec("client1", "wan", None, None, None, None))]) is None
