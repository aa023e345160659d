"""A server's entries in events.jsonl, each under the round in which it happened."""

from typing import Unpack

from contracts.events import Details, Phase
from nodes.recorder import Recorder, now


class RoundLog:
    """Knows which round is under way at a server, and records phases and notes under it."""

    def __init__(self, server: str, recorder: Recorder) -> None:
        self.server = server
        self.global_round = self.local_round = 0
        self._recorder = recorder

    def start_round(self, global_round: int, local_round: int) -> None:
        """Record everything that follows under these rounds."""
        self.global_round, self.local_round = global_round, local_round

    def phase(
        self, node: str, phase: Phase, start: float, end: float, **details: Unpack[Details]
    ) -> None:
        """Record something that took time in this local round."""
        within: Details = {"local_round": self.local_round, **details}
        self._recorder.phase(node, phase, start, end, self.global_round, **within)

    def until_now(
        self, node: str, phase: Phase, since: float | None = None, **details: Unpack[Details]
    ) -> None:
        """Record something in this local round that ends now, and that began now or at `since`."""
        start = now() if since is None else since
        self.phase(node, phase, start, now(), **details)

    def note(self, node: str, phase: Phase, **details: Unpack[Details]) -> None:
        """Record a moment in this global round, without a local round."""
        self._recorder.note(node, phase, self.global_round, **details)
