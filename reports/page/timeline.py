"""What happened to nodes and links during a run, as rows of the report's table."""

from collections.abc import Callable, Iterable
from typing import Any

from contracts.events import Phase
from reports.records.events import Event
from reports.wording import duration

_MOST_ROWS = 500


def timeline_rows(events: Iterable[Event]) -> dict[str, Any]:
    """Return start, end, kind, node and description of each event, in order of time.

    Only the first few hundred are listed; `of` says how many there are.
    """
    rows = [
        [round(event.start, 6), round(event.end, 6), event.phase, event.node, words(event)]
        for event in events
        if (words := _WORDS.get(event.phase)) is not None
    ]
    return {"rows": rows[:_MOST_ROWS], "of": len(rows)}


def _handover(event: Event) -> str:
    before = " and ".join(event.fields.get("from") or ["nobody"])
    after = " and ".join(event.fields.get("to") or ["nobody"])
    silent = float(event.fields.get("link_seconds") or 0.0)
    return f"from {before} to {after}" + (f", {duration(silent)} without a link" if silent else "")


def _link(event: Event) -> str:
    links, profile = event.fields.get("links") or [event.node], event.fields.get("profile")
    few = ", ".join(links[:3]) + (f" and {len(links) - 3} more" if len(links) > 3 else "")
    return f"{few} {f'now {profile}' if profile else 'changed'}"


def _missing(event: Event) -> str:
    missing = event.fields.get("missing") or []
    few = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
    return f"without an update from {few}"


_WORDS: dict[str, Callable[[Event], str]] = {
    Phase.HANDOVER: _handover,
    Phase.OUTAGE: lambda event: f"no link for {duration(event.seconds)}",
    Phase.LINK: _link,
    Phase.CRASH: lambda _: "its process ended",
    Phase.RESTART: lambda _: "its process began anew",
    Phase.AWAY: lambda _: "went away",
    Phase.BACK: lambda _: "was there again",
    Phase.ABANDONED: lambda event: f"left before its update had reached {event.peer}",
    Phase.RESENT: lambda event: f"sent its update to {event.peer} again",
    Phase.DEADLINE: _missing,
    Phase.UNREACHABLE: lambda _: "could not be sent the model",
    Phase.LATE: lambda event: f"its update came too late for {event.peer}",
    Phase.REFUSED: lambda event: f"refused a message of {event.peer}: {event.fields.get('reason')}",
    Phase.EMPTY: lambda event: f"had no clients for {duration(event.seconds)}",
}
