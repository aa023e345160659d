"""What a scenario's link does to packets, in numbers."""

from contracts.errors import BadInput
from contracts.links import Shape
from contracts.traces import Trace
from netem.shaping import default_queue, frames_in_flight
from scenarios import quantities, trace_files
from scenarios.sections import Link


def shapes(link: Link, least_queue: int = 0) -> tuple[Shape, Shape]:
    """Return the link's shapes upwards (towards the upper tier) and downwards."""
    if link.trace is not None:
        return _traced_shapes(link, trace_files.load(link.trace))
    delay, jitter = quantities.seconds(link.delay), quantities.seconds(link.jitter)

    def shape(rate_text: str | None) -> Shape:
        rate = quantities.bits_per_second(rate_text) if rate_text else None
        queue = link.queue or max(least_queue, default_queue(rate, delay))
        loss = quantities.share(link.loss)
        return Shape(rate, delay, jitter, loss, queue, queueing=link.queueing)

    return shape(link.rate_up or link.rate), shape(link.rate_down or link.rate)


def _traced_shapes(link: Link, trace: Trace) -> tuple[Shape, Shape]:
    """Return the shapes of the trace's first row, with a queue long enough for all of its rows."""
    first, own_delay = trace.first, quantities.seconds(link.delay)
    jitter, loss = quantities.seconds(link.jitter), quantities.share(link.loss)
    delays = [own_delay if row.delay is None else row.delay for row in trace.rows]
    if jitter > min(delays):
        raise BadInput(f'trace "{link.trace}": a delay in it is below the jitter; lower the jitter')
    delay = own_delay if first.delay is None else first.delay
    loss = loss if first.loss is None else first.loss

    def shape(rate: float, highest: float) -> Shape:
        queue = link.queue or default_queue(highest, max(delays))
        queue += frames_in_flight(highest, max(delays) + jitter)
        return Shape(rate, delay, jitter, loss, queue, varies=True)

    return (
        shape(first.rate_up, max(row.rate_up for row in trace.rows)),
        shape(first.rate_down, max(row.rate_down for row in trace.rows)),
    )
