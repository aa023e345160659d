"""Who takes part in a server's round, also where clients come and go meanwhile.

docs/multicell.md has the rules.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping

import zmq

from contracts.control import Left
from contracts.events import Phase
from contracts.messages import Kind
from nodes.control import Control
from nodes.joining import JoinDuringRun, welcome
from nodes.recorder import now
from nodes.serving.membership import Members
from nodes.serving.round_log import RoundLog
from nodes.transport import ServerEndpoint, first_with_message
from protocols.wire import Expected, Message


class Attendance:
    """The members of a server, and how far each of them is in the round under way.

    Without a `control` line the children are fixed and nobody comes or goes. With one, joins are
    taken from the network and departures from the launcher, at any time. `on_join` is called with
    the name of whoever joined.
    """

    def __init__(
        self,
        children: Iterable[str],
        endpoint: ServerEndpoint,
        log: RoundLog,
        control: Control | None,
        on_join: Callable[[str], None],
    ) -> None:
        self._members = Members(children)
        self._endpoint, self._log, self._control = endpoint, log, control
        self._on_join = on_join
        self._present: set[str] = set()  # take part in the round and have not left since
        self._missing: set[str] = set()  # their updates are awaited
        self._asked: Mapping[str, int] | None = None  # local rounds of their models, if several
        self._left: set[str] = set()  # left while their updates were awaited
        self._returning: set[str] = set()  # were told to join a server that was restarted

    @property
    def names(self) -> list[str]:
        """The members, in the order in which they joined."""
        return self._members.names

    @property
    def changes(self) -> bool:
        """Whether clients may come and go."""
        return self._control is not None

    @property
    def present(self) -> int:
        """How many take part in the round under way and have not left since."""
        return len(self._present)

    def start_round(self, participants: list[str]) -> None:
        """Count these as present in the round that begins."""
        self._present = set(participants)

    def await_updates(self, missing: set[str], asked: Mapping[str, int] | None = None) -> None:
        """Keep this set current while updates are collected, as clients leave and come back.

        All of them answer models of the round under way, or those of the local rounds in `asked`.
        """
        self._missing, self._asked, self._left = missing, asked, set()

    def stop_awaiting(self) -> None:
        """The updates of the round are in: whoever leaves now is not missed."""
        self._missing = set()

    def unreachable(self, child: str) -> None:
        """A child could not be sent to: where clients come and go, it has left already."""
        if self.changes:
            self._present.discard(child)  # the launcher's report is on its way

    def gather(self, patience: float, expected: Expected) -> None:
        """Settle and record who is in the round: all that have joined and not left.

        A cell that is empty waits for somebody to join, as long as `patience` allows.
        """
        if self._control is None:
            return
        start = now()
        deadline = start + patience
        self.update(expected)
        empty = not self._members
        while not self._members and now() < deadline:
            first_with_message((self._endpoint,), deadline, self._control)
            self.update(expected)
        if empty:
            self._log.until_now(self._log.server, Phase.EMPTY, since=start)
        self._log.until_now(self._log.server, Phase.MEMBERS, members=self.names)

    def settle(self) -> None:
        """Settle and record who is there, without waiting and without taking any message."""
        self.see_off()
        if self._control is not None:
            self._log.until_now(self._log.server, Phase.MEMBERS, members=self.names)

    def see_off(self) -> None:
        """Handle all departures that have been reported."""
        if self._control is not None:
            self._apply_departures(self._control)

    def await_return(
        self, children: list[str], patience: float, expected: Expected, given_up: Callable[[], bool]
    ) -> None:
        """Wait until these have joined anew, but for those who leave, as long as patience allows.

        It ends as well when the wait is `given_up`.
        """
        if self._control is None:
            return
        start = now()
        self._returning = set(children)
        while self._returning and now() < start + patience and not given_up():
            first_with_message((self._endpoint,), start + patience, self._control)
            self.update(expected)
        self._log.until_now(self._log.server, Phase.EMPTY, since=start)

    def update(self, expected: Expected) -> None:
        """Handle all departures and joins that have come, without waiting for any.

        An update that comes between rounds is refused by `expected`: its sender is told it is late.
        """
        if self._control is None:
            return
        self._apply_departures(self._control)
        while self._endpoint.has_message():
            message = self._endpoint.receive(now(), expected)
            if message is not None and message.kind == Kind.JOIN:
                self.let_in(message)

    def next_message(self, deadline: float, expected: Expected) -> Message | None:
        """Wait for the next message; None at the deadline, and after a departure was handled."""
        if self._control is None:
            return self._endpoint.receive(deadline, expected)
        first = first_with_message((self._endpoint,), deadline, self._control)
        if first is self._control:
            self._apply_departures(self._control)
        return self._endpoint.receive(now(), expected) if first is self._endpoint else None

    def let_in(self, message: Message) -> None:
        """Make the sender of a join a member, from the next round on.

        It is in the current round as well if it left during that round and brings its update back.
        """
        if self._control is not None:
            self._apply_departures(self._control)  # it may have left before it joined
        name, join = message.sender, JoinDuringRun.from_message(message)
        if join is None or not self._members.enter(name, join.since):
            return
        self._returning.discard(name)
        self._on_join(name)
        asked = self._log.local_round if self._asked is None else self._asked.get(name, 0)
        returns = name in self._left and join.holds == asked
        if returns:
            self._left.discard(name)
            self._missing.add(name)
            self._present.add(name)
        with contextlib.suppress(zmq.ZMQError):  # it has left again
            welcome(self._endpoint, name, wanted=asked if returns else 0)

    def _apply_departures(self, control: Control) -> None:
        """Remove who has left, as the launcher reports."""
        for order in control.take_available(Left):
            name = order.client
            self._returning.discard(name)
            if not self._members.leave(name, order.since):
                continue
            self._present.discard(name)
            if name in self._missing:
                self._missing.discard(name)
                self._left.add(name)
                self._log.until_now(name, Phase.ABANDONED, peer=self._log.server)
