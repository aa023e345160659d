"""What a worker or an evaluator remembers, as long as there is no trouble with the store."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from contracts.messages import Kind
from contracts.run_directory import RunDirectory
from contracts.spool import Spool, unfinished
from contracts.training import Result, Task
from learning.remembering import store as stores
from learning.remembering.engine import unchanged
from learning.remembering.names import Names
from learning.remembering.store import Store, StoreTrouble
from learning.training.run_data import RunData, learning_settings
from protocols.wire import Message, Refused, read_file

Tensors = Mapping[str, np.ndarray]
Found = TypeVar("Found")

_RESULT_FIELDS = [field.name for field in fields(Result) if field.name != "tensors"]
_SENDER = "metronome"
# A name that another process works on is waited for no longer than this, should it be stopped.
_PATIENCE_SECONDS = 300.0


class Memory:
    """Looks results up and keeps them; once there is trouble with the store, it does neither.

    `waits` says whether to wait for a result that another run is working on. On the wall clock
    nobody waits: a training must not take longer for being remembered.
    """

    def __init__(self, store: Store, names: Names, waits: bool, on_trouble: Callable[[str], None]):
        self._store: Store | None = store
        self._names, self.waits, self._on_trouble = names, waits, on_trouble

    @classmethod
    def of_run(cls, run_dir: Path, spool: Spool) -> "Memory | None":
        """Return the memory of a run's worker or evaluator; None if it is to remember nothing."""
        settings = learning_settings(run_dir)
        if not settings.get("remember"):
            return None
        try:
            store = Store(stores.place())
        except StoreTrouble as error:
            report_trouble(spool, str(error))
            return None
        names = Names(RunData.load(run_dir), settings["model"])
        waits = bool(settings.get("waits_for_others"))
        return cls(store, names, waits, lambda sentence: report_trouble(spool, sentence))

    def look_up(self, task: Task) -> "Lookup":
        """Find the name of a training, by which it may be known."""
        return Lookup(self, self._names.of_training(task))

    def evaluation(self, tensors: Tensors, kind: type[Found]) -> "Figures[Found]":
        """Return what is known of a model's scores on the test set."""
        return Figures(self, self._names.of_evaluation(tensors), kind)

    def dissimilarity(self, tensors: Tensors, kind: type[Found]) -> "Figures[Found]":
        """Return what is known of how much gradients differ at a model."""
        return Figures(self, self._names.of_dissimilarity(tensors), kind)

    def has_begun(self, run_dir: Path) -> bool:
        """Return whether some run has trained from this run's first model before."""
        name = self._beginning(run_dir)
        return name is not None and self.use(False, lambda store: store.knows(name))

    def begin(self, run_dir: Path) -> None:
        """Let later runs know that this one trained from its first model."""
        if (name := self._beginning(run_dir)) is not None:
            self.write(name, Message(Kind.RESULT, _SENDER, 0))

    def _beginning(self, run_dir: Path) -> str | None:
        try:
            return self._names.of_beginning(read_file(RunDirectory(run_dir).initial_model).tensors)
        except (OSError, Refused):
            return None

    def read(self, name: str, read: Callable[[Message], Found]) -> Found | None:
        """Return what is kept under a name, if anything is."""
        message = self.use(None, lambda store: store.get(name))
        try:
            return None if message is None else read(message)
        except (TypeError, KeyError):  # an entry of the right form that says something else
            return None

    def write(self, name: str, message: Message) -> None:
        """Keep a message under a name, unless it may be the result of other code than named."""
        if self._store is not None and not unchanged():
            self._stop("Metronome's code was changed during the run: nothing more is remembered")
        self.use(None, lambda store: store.put(name, message))

    def use(self, otherwise: Any, use: Callable[[Store], Any]) -> Any:
        """Do something with the store; `otherwise` if there is, or was, trouble with it."""
        if self._store is None:
            return otherwise
        try:
            return use(self._store)
        except StoreTrouble as error:
            self._stop(str(error))
            return otherwise

    def _stop(self, why: str) -> None:
        self._store = None
        self._on_trouble(why)


class Lookup:
    """A training that a worker has to do, under the name by which it may be known."""

    def __init__(self, memory: Memory, name: str) -> None:
        self._memory, self._name = memory, name
        self._since = time.monotonic()

    def claim(self) -> bool:
        """Say that this process will do it; False while another process is doing it.

        Nobody waits for ever: the other process may have been stopped.
        """
        if not self._memory.waits or time.monotonic() - self._since > _PATIENCE_SECONDS:
            return True
        return bool(self._memory.use(True, lambda store: store.begin(self._name)))

    def release(self) -> None:
        """Leave it to others, or let them have its result."""
        self._memory.use(None, lambda store: store.end(self._name))

    def recall(self) -> Result | None:
        """Return the result of this training if it was done before."""
        return self._memory.read(
            self._name, lambda message: Result(**message.meta, tensors=message.tensors)
        )

    def keep(self, result: Result) -> None:
        """Remember its result."""
        meta = {name: getattr(result, name) for name in _RESULT_FIELDS}
        self._memory.write(self._name, Message(Kind.RESULT, _SENDER, 0, meta, result.tensors))


class Figures(Generic[Found]):
    """Figures about a model, as a dataclass of plain data, under the name they are kept by."""

    def __init__(self, memory: Memory, name: str, kind: type[Found]) -> None:
        self._memory, self._name = memory, name
        self.known: Found | None = memory.read(name, lambda message: kind(**message.meta))

    def keep(self, found: Found) -> None:
        """Remember these figures."""
        meta = dataclasses.asdict(found)  # type: ignore[call-overload]
        self._memory.write(self._name, Message(Kind.RESULT, _SENDER, 0, meta))


def report_trouble(spool: Spool, sentence: str) -> None:
    """Let the runner say once why nothing more is remembered."""
    print(sentence, flush=True)  # to this process's log
    # Several processes may find the same trouble at once.
    aside = unfinished(spool.store_trouble).with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        aside.write_text(sentence, encoding="utf-8")
        aside.rename(spool.store_trouble)
