"""What a path of several links does to packets, as if it were one link."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from contracts.links import Hop, Shape


def end_to_end(path: Sequence[Hop]) -> tuple[Shape, Shape] | None:
    """Return a path's shapes to the server and from it; None if none of its links is shaped."""
    up = _joined(hop.to_server for hop in path)
    down = _joined(hop.from_server for hop in path)
    return None if up is None or down is None else (up, down)


def _joined(shapes: Iterable[Shape | None]) -> Shape | None:
    """Return one shape for several in a row: the slowest rate, and all delays and losses."""
    whole: Shape | None = None
    for shape in shapes:
        if whole is None or shape is None:
            whole = whole or shape
            continue
        rates = [rate for rate in (whole.rate, shape.rate) if rate is not None]
        whole = replace(
            whole,
            rate=min(rates, default=None),
            delay=whole.delay + shape.delay,
            jitter=whole.jitter + shape.jitter,
            loss=1 - (1 - whole.loss) * (1 - shape.loss) if shape.loss else whole.loss,
            queue=min(whole.queue, shape.queue),
            varies=whole.varies or shape.varies,
            queueing="fq_codel" if "fq_codel" in (whole.queueing, shape.queueing) else "fifo",
        )
    return whole
