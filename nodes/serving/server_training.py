"""A server's own training, for methods in which the server has samples too."""

from contracts.events import Phase
from nodes.compute import Computer, RunningTraining
from nodes.serving.round_log import RoundLog
from protocols.base import Moment, Server


class ServerTraining:
    """Trains what the method asks the server for, in the time that the server's device takes."""

    def __init__(self, method: Server, computer: Computer | None, log: RoundLog) -> None:
        self._method, self._computer, self._log = method, computer, log

    def run(self, moment: Moment) -> None:
        """Do all training of this moment of the round, if the method has any."""
        self.finish(moment, self.begin(moment))

    def begin(self, moment: Moment) -> RunningTraining | None:
        """Start the training of this moment; None if the method has none."""
        job = self._method.server_job(moment)
        if job is None:
            return None
        assert self._computer is not None, "a server without data of its own cannot train"
        return self._computer.begin(job, self._log.local_round, moment)

    def finish(self, moment: Moment, running: RunningTraining | None) -> None:
        """Wait for a training that was begun, give its result to the method and record it."""
        if running is None:
            return
        result, timing = running.collect()
        self._method.server_trained(moment, result)
        end = running.start + timing["modelled"] + timing["overrun"]
        self._log.phase(
            self._log.server, Phase.COMPUTE, running.start, end, moment=moment, **timing
        )
