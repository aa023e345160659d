"""FedAvg as a user of Flower writes it, around our training. Runs in Flower's own environment.

The environment variable METRONOME_PEERS_RUN names the prepared run directory.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from benchmarks.peers.names import FINAL, ROUNDS, RUN
from benchmarks.peers.work import Work

client = ClientApp()
server = ServerApp()
_work: list[Work] = []  # loaded once in each process


def work() -> Work:
    """Return what this process trains."""
    if not _work:
        _work.append(Work(Path(os.environ[RUN])))
    return _work[0]


def record(model: Mapping[str, np.ndarray]) -> ArrayRecord:
    """Return a model in Flower's form."""
    return ArrayRecord({name: Array(array) for name, array in model.items()})


@client.train()
def train(message: Message, context: Context) -> Message:
    """Train the model that has come on the samples of this client."""
    arrays = message.content["arrays"]
    model = {name: array.numpy() for name, array in arrays.items()}
    current_round = int(message.content["config"]["server-round"])
    result = work().train(int(context.node_config["partition-id"]), current_round, model)
    reply = RecordDict(
        {
            "arrays": record(result.tensors),
            "metrics": MetricRecord({"num-examples": result.samples, "loss": result.loss}),
        }
    )
    return Message(content=reply, reply_to=message)


@server.main()
def serve(grid: Grid, context: Context) -> None:
    """Hold the rounds, and say when each has ended."""
    run_dir = Path(os.environ[RUN])
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=work().clients)
    while len(list(grid.get_node_ids())) < work().clients:
        time.sleep(0.1)

    def note(current_round: int, model: ArrayRecord) -> None:
        with (run_dir / ROUNDS).open("a") as file:
            file.write(f"{current_round}/{work().plan.rounds}\n")

    first = record(work().first_model())
    ended = strategy.start(grid, first, work().plan.rounds, evaluate_fn=note)
    np.savez(run_dir / FINAL, **{name: array.numpy() for name, array in ended.arrays.items()})
