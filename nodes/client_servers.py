"""The servers that a client hears: those of the plan, and as they change under way.

docs/multicell.md has the rules. Changes are told over the control line, as a phone's radio tells
its programs; they are taken in between trainings, never during one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Unpack

from contracts.control import Cells, Stop
from contracts.events import Details, Phase
from contracts.messages import GLOBAL_ROUND, WANTED, Kind
from nodes.node_process import Inside
from nodes.parent import Parent
from nodes.recorder import now
from nodes.transport import first_to_hear
from protocols.base import Package
from protocols.wire import Message

_FOR_EVER = 1e9  # seconds: the launcher ends whoever waits for nothing


@dataclass
class Heard:
    """A server that is heard now: how far this client is with it."""

    parent: Parent
    told: float  # when the client was told that it hears it
    welcomed: bool
    member: bool  # it has sent a model: from then on its next one is waited for
    stage: str = "waiting"  # then "training", then "sent"


@dataclass
class Kept:
    """The last update for a server, in case that it must be sent again."""

    local_round: int
    update: Package | None  # None while it is being trained
    sent: bool = False


class Hearing:
    """Joins and leaves servers; brings their models together and the updates back."""

    def __init__(self, inside: Inside, on_data: Callable[[Package], None]) -> None:
        self._inside, self._plan = inside, inside.plan
        self._on_data = on_data
        self._spec, self._recorder = inside.spec, inside.recorder
        self._addresses = dict((*inside.spec.servers, *inside.spec.visits))
        self._heard: dict[str, Heard] = {}
        self._models: dict[str, Message] = {}  # came, and wait for those of the other servers
        self._kept: dict[str, Kept] = {}
        self._round = 0  # the last global round heard of
        # Who is drawn for few of the rounds may wait for most of the run, and whose server trains
        # itself for as long as that takes.
        drawn = self._plan.settings.get("clients_per_round", 0) > 0
        studies = any(node.children and node.samples for node in self._plan.nodes)
        all_rounds = 1 + self._plan.rounds * self._plan.settings.get("edge_rounds", 1)
        rounds = max(2, all_rounds) if drawn or studies else 2
        self._longest_wait = self._plan.limits.join + rounds * self._plan.limits.round
        self._waits_since = now()
        self._over = False

    def begin(self) -> None:
        """Join the plan's servers; after a restart those to come are told by and by."""
        if self._inside.restarted:
            return
        for name in dict(self._spec.servers):
            self._heard[name] = Heard(self._open(name), now(), welcomed=True, member=True)
        for heard in self._heard.values():
            heard.parent.join()

    def next_models(self) -> dict[str, Message]:
        """The next model of every server, once all have come; nothing when training is over."""
        self._waits_since, patience = now(), _FOR_EVER
        while True:
            self._take_in()
            if not self._models:
                patience = _FOR_EVER  # what came may have been dropped again
            if self._over or not (self._heard or self._plan.moves):
                return {}
            silent = [h for n, h in self._heard.items() if n not in self._models]
            if self._models and (now() >= patience or not any(h.member for h in silent)):
                return self._handed_out()
            deadline = self._waits_since + self._longest_wait if silent else _FOR_EVER
            if now() >= deadline:
                silent[0].parent.patience_is_over()
                self._waits_since = now()
            self._listen(silent, min(patience, deadline))
            if self._models and patience == _FOR_EVER:
                patience = now() + self._patience()

    def hears_any(self, names: Iterable[str]) -> bool:
        """Whether one of these servers is heard still; if not, nothing is kept for them."""
        self._take_in()
        if any(name in self._heard for name in names):
            return True
        for name in names:
            self._kept.pop(name, None)
        return False

    def send(self, name: str, local_round: int, update: Package) -> None:
        """Send an update; to a server that is not heard now it stays here, for a return in time."""
        self._take_in()
        kept = self._kept[name] = Kept(local_round, update)
        heard = self._heard.get(name)
        if heard is not None and heard.welcomed:
            self._send(heard, kept)
        if not self._plan.moves:
            del self._kept[name]

    def close(self) -> None:
        """Close the connections to all servers."""
        for heard in self._heard.values():
            heard.parent.close(abandon=self._plan.moves)

    def _open(self, name: str) -> Parent:
        server = (name, self._addresses[name])
        return Parent(self._spec, self._plan, self._recorder, server=server)

    def _patience(self) -> float:
        """How long a model waits for those of the other cells; static ones have their deadline."""
        limits = self._plan.limits
        default = limits.round / 2 if self._plan.moves else _FOR_EVER
        return limits.patience or default

    def _handed_out(self) -> dict[str, Message]:
        found = {name: self._models[name] for name in self._heard if name in self._models}
        self._models.clear()
        return found

    def _listen(self, silent: list[Heard], deadline: float) -> None:
        """Until one message has come, or word that something changed."""
        endpoints = (heard.parent.endpoint for heard in silent)
        control = self._inside.control if self._plan.moves else None
        first = first_to_hear(endpoints, deadline, control)
        for heard in silent:
            if heard.parent.endpoint is first:
                message = heard.parent.hear(now())
                if message is not None:
                    self._take(heard, message)

    def _take(self, heard: Heard, message: Message) -> None:
        name = heard.parent.name
        if message.kind == Kind.STOP:
            self._heard.pop(name).parent.close()
        elif message.kind == Kind.WELCOME:
            self._welcomed(heard, message)
        elif message.kind == Kind.DATA:
            self._on_data(Package(message.meta, message.tensors))
        else:
            heard.member, heard.stage = True, "training"
            self._round = message.meta[GLOBAL_ROUND]
            self._models[name], self._kept[name] = message, Kept(message.local_round, None)

    def _welcomed(self, heard: Heard, message: Message) -> None:
        name = heard.parent.name
        heard.welcomed = True
        self._recorder.phase(
            self._spec.name, Phase.JOINED, heard.told, now(), self._round, peer=name
        )
        kept = self._kept.get(name)
        if kept and kept.update is not None and kept.local_round == message.meta.get(WANTED):
            if kept.sent:
                self._note(Phase.RESENT, peer=name, local_round=kept.local_round)
            self._send(heard, kept)

    def _send(self, heard: Heard, kept: Kept) -> None:
        assert kept.update is not None
        heard.parent.send_update(kept.local_round, kept.update)
        heard.stage, kept.sent = "sent", True

    def _take_in(self) -> None:
        """What the launcher has told since."""
        if not self._plan.moves:
            return
        for order in self._inside.control.waiting():
            if isinstance(order, Cells):
                self._change(order.hears, order.over, order.since)
            elif isinstance(order, Stop):
                self._over = True

    def _change(self, hears: list[str], over: list[str], since: int) -> None:
        """From now on these servers are heard; those that are over have only finished."""
        for name in [name for name in self._heard if name not in hears]:
            heard, kept = self._heard.pop(name), self._kept.get(name)
            if name not in over:
                held = kept.local_round if kept else 0
                self._note(Phase.LEFT, peer=name, stage=heard.stage, local_round=held)
            if self._models.pop(name, None) is not None:
                del self._kept[name]  # not even begun
            heard.parent.close(abandon=True)
        for name in hears:
            if name not in self._heard:
                self._heard[name] = Heard(self._open(name), now(), welcomed=False, member=False)
                kept = self._kept.get(name)
                self._heard[name].parent.ask_to_join(since, kept.local_round if kept else 0)
        self._heard = {name: self._heard[name] for name in hears}
        self._waits_since = now()

    def _note(self, what: Phase, **details: Unpack[Details]) -> None:
        self._recorder.note(self._spec.name, what, self._round, **details)
