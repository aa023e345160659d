"""Every disturbance that the trial knows: what is done to which part of a run, and when."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass

PHASES = ("set-up", "probing", "joining", "training", "evaluation", "finishing")
_RUNNING = PHASES[:5]  # as long as there is more than the runner
_NETWORK = PHASES[:4]  # as long as there is a network

KILL, STOP, PAUSE = "kill -9", "SIGSTOP", "SIGSTOP, then SIGCONT"


@dataclass(frozen=True)
class Disturbance:
    """One fault. If the run fails of it, its sentence must have one of the words of `causes`.

    `survives` says that it must not fail at all.
    """

    backend: str
    phase: str
    what: str
    target: str
    causes: tuple[str, ...] = ()
    survives: bool = False
    needs_root: bool = False

    def __str__(self) -> str:
        return f"{self.backend}: {self.what} of {self.target}, {self.phase}"


def everything() -> list[Disturbance]:
    """Return all that this user may try."""
    root = os.geteuid() == 0
    return [case for case in _all() if root or not (case.needs_root or case.backend == "native")]


def named(backend: str, phase: str, what: str, target: str) -> Disturbance | None:
    """Return this disturbance; None if this user may not try it."""
    wanted = backend, phase, what, target
    return next((c for c in everything() if (c.backend, c.phase, c.what, c.target) == wanted), None)


def drawn(seed: int, count: int) -> list[Disturbance]:
    """Draw so many disturbances: each kind at a phase of its own before any comes again."""
    draws, found = random.Random(seed), list[Disturbance]()
    while len(found) < count:
        by_kind: dict[tuple[str, str, str], list[Disturbance]] = {}
        for case in everything():
            by_kind.setdefault((case.backend, case.what, case.target), []).append(case)
        kinds = [draws.choice(cases) for cases in by_kind.values()]
        draws.shuffle(kinds)
        found += kinds
    return found[:count]


def _all() -> Iterator[Disturbance]:
    yield from _signals()
    yield from _storage()
    yield from _native()


def _signals() -> Iterator[Disturbance]:
    for phase in PHASES:
        yield Disturbance("guest", phase, KILL, "the runner")
        yield Disturbance("guest", phase, PAUSE, "the runner", survives=True)
        yield Disturbance("guest", phase, PAUSE, "all processes", survives=True)
    for phase in _RUNNING:
        yield Disturbance("guest", phase, KILL, "a worker", survives=True)
        yield Disturbance("guest", phase, KILL, "the evaluator", survives=True)
        yield Disturbance("guest", phase, STOP, "all workers", survives=True)
        yield Disturbance("guest", phase, STOP, "the evaluator", survives=True)
        yield Disturbance("guest", phase, PAUSE, "the evaluator", survives=True)
    for phase in _NETWORK:
        killed = ("signal 9", "ended by itself")
        yield Disturbance("guest", phase, KILL, "the guest's kernel", killed)
        yield Disturbance("guest", phase, KILL, "the guard", killed)
        died = ("ended by itself", "its process was ended", "signal", "its process ended")
        yield Disturbance("guest", phase, KILL, "a stub", died)
        yield Disturbance("guest", phase, STOP, "the guest's kernel", ("stopped by a signal",))
        yield Disturbance("guest", phase, PAUSE, "the guest's kernel", survives=True)
        yield Disturbance("guest", phase, PAUSE, "a stub", survives=True)


def _storage() -> Iterator[Disturbance]:
    full = ("no room", "no space left")
    for phase in _RUNNING:
        for what, target, causes in (
            ("filling", "the run's disk", full),
            ("filling", "/dev/shm", full),
            ("renaming", "the run's directory", ("was renamed to",)),
            ("removing", "the run's directory", ("was removed",)),
            ("removing", "the spool", ("the run's spool was removed",)),
        ):
            yield Disturbance("guest", phase, what, target, causes, needs_root=True)
    yield Disturbance("guest", "finishing", "filling", "the run's disk", full, needs_root=True)


def _native() -> Iterator[Disturbance]:
    for phase in ("joining", "training"):
        died = ("its process was ended by signal 9", "ended")
        yield Disturbance("native", phase, KILL, "a client", died)
        yield Disturbance("native", phase, KILL, "the server", died)
        yield Disturbance("native", phase, KILL, "the launcher", ("ended by", "signal 9"))
        yield Disturbance("native", phase, KILL, "a worker", survives=True)
        late = ("no update from", "not ready in time", "within", "not bound in time")
        yield Disturbance("native", phase, STOP, "a client", late)
        yield Disturbance("native", phase, "cutting", "a client's link", late)
        yield Disturbance("native", phase, STOP, "the launcher", ("stopped by a signal",))
