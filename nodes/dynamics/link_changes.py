"""What the timeline does to links: new shapes, outages, and rows of traces."""

from functools import partial
from typing import Any

from contracts.events import Details, Phase
from contracts.timeline import LinkChangeEvent, OutageEvent
from netem.radio import Radio
from netem.varying_links import VaryingLinks
from nodes.dynamics.effects import Record
from nodes.dynamics.schedule import Schedule


class LinkChanges:
    """Changes and cuts links at their times, and lets links with a trace follow it."""

    def __init__(
        self,
        links: dict[str, Any],
        radio: Radio,
        varying: VaryingLinks,
        schedule: Schedule,
        record: Record,
    ) -> None:
        self._links, self._radio, self._varying = links, radio, varying
        self._schedule, self._record = schedule, record
        self._schedule_next_row()

    def reshape(self, event: LinkChangeEvent) -> None:
        """Give links new shapes, which they keep: they stop following their traces."""
        self._varying.stop_following(event.links)
        for name in event.links:
            self._links[name].change(event.up, event.down)
        details: Details = {"profile": event.profile, "links": list(event.links)}
        self._record(event.links[0], Phase.LINK, event.at, self._schedule.now(), **details)

    def cut(self, event: OutageEvent) -> None:
        """Take links down until the end of the outage."""
        self._radio.cut(event.links)
        late = self._schedule.now() - event.at
        self._record(event.what, Phase.OUTAGE, event.at, event.until, late=late)
        self._schedule.at(event.until, partial(self._restore, event))

    def _restore(self, event: OutageEvent) -> None:
        self._radio.restore(event.links)
        self._record(event.what, Phase.RESTORED, event.until, self._schedule.now())

    def _schedule_next_row(self) -> None:
        """Have the next rows of traces take effect when they are due."""
        if self._varying.next_change is not None:
            self._schedule.at(self._varying.next_change, self._apply_rows)

    def _apply_rows(self) -> None:
        self._varying.advance(self._schedule.now())
        self._schedule_next_row()
