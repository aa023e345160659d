"""The nodes' processes, as the launcher sees them: what they say, and which of them are gone."""

import contextlib
import os
import selectors
from collections.abc import Callable
from typing import Any, TypeVar, cast

from contracts import status
from contracts.control import Bound, Done, Failed, Ready, Start, Word
from contracts.plan import Plan
from nodes.control import Control
from nodes.launch.run_keys import RunKeys
from nodes.records import Records

Answer = TypeVar("Answer", bound=Word)
Readable = list[tuple[selectors.SelectorKey, int]]
_LONGEST_WAIT = 1e6  # seconds that epoll(2) can hold; who waits for longer asks again


class NodeFailed(Exception):
    """A node ended or reported an error; the sentence names it."""


class NodeProcesses:
    """The control lines to all nodes, and the state of the process behind each.

    `on_word` is called for everything that a node says, except that it failed. The loss of a node
    ends the run with NodeFailed, unless the scenario lets a quorum go on without a client.
    """

    def __init__(
        self,
        plan: Plan,
        network: Any,
        records: Records,
        on_word: Callable[[str, Word], None],
        keys: RunKeys | None = None,
    ) -> None:
        self._plan, self._network, self._records = plan, network, records
        self._on_word, self._keys = on_word, keys
        self._selector = selectors.DefaultSelector()
        self._controls: dict[str, Control] = {}
        self._said: dict[type[Word], set[str]] = {Bound: set(), Ready: set(), Done: set()}
        self._restarts: dict[str, int] = {}
        self.gone: set[str] = set()
        for node in plan.nodes:
            self._open(node.name)

    def _open(self, name: str) -> Control:
        control = self._controls[name] = Control(self._network.host(name).control)
        self._selector.register(control, selectors.EVENT_READ, name)
        return control

    def have_said(self, kind: type[Word]) -> set[str]:
        """Return the nodes that have said bound, ready or done; the set grows as they do."""
        return self._said[kind]

    def start(self, node: str) -> None:
        """Have a node play its role, for the first time."""
        self._start(node, Start())

    def order(self, node: str, order: Word) -> None:
        """Tell something to a node that must be there."""
        self._controls[node].say(order)

    def say(self, node: str, said: Word) -> None:
        """Tell something to a node that may have ended meanwhile."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._controls[node].say(said)

    def answer(self, node: str, kind: type[Answer]) -> Answer:
        """Wait for a node's answer to an order, before any node has started."""
        try:
            return self._controls[node].wait_for(kind)
        except ConnectionError:
            raise NodeFailed(
                f"{node}: its link could not be measured: it carries next to nothing, or the node "
                "ended; see logs/network.log, and the loss of its link in the scenario"
            ) from None

    def wait_readable(self, seconds: float | None) -> Readable:
        """Wait until some nodes have said something; empty if none did in that time."""
        return self._selector.select(None if seconds is None else min(seconds, _LONGEST_WAIT))

    def read(self, readable: Readable) -> None:
        """Handle what these nodes have said, unless one of them has been crashed since."""
        for key, _ in readable:
            if cast(Control, key.fileobj).fileno() >= 0:
                self._read_node(key.data)

    def crash(self, node: str) -> None:
        """End a node's process, for the timeline; what it had said by then still counts."""
        if node in self.gone or node in self._said[Done]:
            return
        host, control = self._network.host(node), self._controls[node]
        host.crash()
        self.gone.add(node)
        self._selector.unregister(control)
        with contextlib.suppress(ConnectionError):
            while True:
                self._handle(node, control.read())
        host.control.close()

    def restart(self, node: str) -> None:
        """Start a new process for a node that was crashed, for the timeline."""
        self._network.host(node).restart()
        self._open(node)
        self.gone.discard(node)
        self._restarts[node] = self._restarts.get(node, 0) + 1
        self._start(node, Start(self._restarts[node]))

    def _start(self, node: str, start: Start) -> None:
        """Give a node its keys, the same ones in each of its lives, and start its role."""
        if self._keys is not None:
            self._controls[node].say(self._keys.of(node))
        self._controls[node].say(start)

    def _read_node(self, name: str) -> None:
        try:
            words = self._controls[name].read()
        except ConnectionError:
            self._line_closed(name)
            return
        self._handle(name, words)

    def _handle(self, name: str, words: list[Word]) -> None:
        for said in words:
            if isinstance(said, Failed):
                self._failed(name, said.error)
                continue
            if (have := self._said.get(type(said))) is not None:
                have.add(name)
            self._on_word(name, said)

    def _line_closed(self, name: str) -> None:
        """A control line has closed: as it should after `done`, otherwise the node has died."""
        self._selector.unregister(self._controls[name])
        if name not in self._said[Done]:
            code = os.waitstatus_to_exitcode(os.waitpid(self._network.host(name).pid, 0)[1])
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            self._failed(name, f"its process {how}")
        self.gone.add(name)

    def _failed(self, name: str, error: str) -> None:
        """End the run with the node's own error, unless a quorum may go on without a client."""
        if name in self.gone:
            return
        replaceable = self._plan.node(name).role == "client" and name in self._said[Ready]
        if not replaceable or self._plan.limits.late != "quorum":
            raise NodeFailed(f"{name}: {error}")
        self._records.write_status(status.NodeLost(node=name, error=error))
        self.gone.add(name)
