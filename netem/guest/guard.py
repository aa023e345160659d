"""A process between the runner and the guest which makes sure that all of the guest ends.

User Mode Linux has a host process for every guest process. With a stock kernel, killing only the
kernel's own process lets the others run on as if they were programs of the host. So the guest has a
process group of its own, which is always killed as a whole: by the runner through `end`, or by the
guard itself when the runner is gone.

Run as `python -m netem.guest.guard COMMAND...`.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from contracts.spool import Spool
from netem import syscalls
from netem.spool import remember_session

_PATIENCE_SECONDS = 60.0  # it takes a moment, unless the host is very slow


def end(guard: "subprocess.Popen[bytes]") -> None:
    """Have a guard end its guest and itself; the runner calls this."""
    guard.terminate()
    guard.send_signal(signal.SIGCONT)  # should somebody have stopped it
    try:
        guard.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()


def main(command: list[str]) -> int:
    """Run the command in a session of its own until it ends or we are told to end it."""
    guest: subprocess.Popen[bytes] | None = None

    def end_guest(_signal: int, _frame: FrameType | None) -> None:
        if guest is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(guest.pid, signal.SIGKILL)
        os._exit(1)

    signal.signal(signal.SIGTERM, end_guest)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runner, which then ends us
    syscalls.die_with_parent(signal.SIGTERM)
    if os.getppid() != int(os.environ["METRONOME_RUNNER"]):
        return 1  # the runner ended before the call above
    # The guest's kernel and its processes only ever take turns, which is faster on a single core.
    # Choosing the core by process id spreads several guests.
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # not before `guest` is assigned
    guest = subprocess.Popen(command, start_new_session=True, preexec_fn=_unblock)
    _unblock()
    remember_session(Spool(Path(os.environ["METRONOME_SPOOL"])), guest.pid)
    code = guest.wait()
    if code < 0:
        _die_of(-code)  # so that the runner sees what ended the guest
    return code


def _die_of(number: int) -> None:
    with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), number)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
