"""The kinds of messages between nodes, and the keys of their meta.

docs/wire.md specifies who sends which kind when; `protocols.wire` encodes and decodes them. A
method may add meta keys of its own to models, data and updates; its file defines them.

Every byte of a header takes emulated time on its link. A name here can therefore only be replaced
by one of the same length, or all time stamps of virtual-clock runs change.
"""

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a message is, or a file that has the form of a message."""

    # Between a server and its children.
    JOIN = "join"  # a child asks to be let in
    WELCOME = "welcome"  # the server's answer
    MODEL = "model"  # the server starts a local round at this child
    DATA = "data"  # sent to each child once, before its first model
    UPDATE = "update"  # the child's answer to a model
    REFUSED = "refused"  # the server did not accept a message of this child
    STOP = "stop"  # training is over

    # In files, in the run directory or in the spool.
    INITIAL = "initial"  # the model that training begins with
    FINAL = "final"  # the model that training ended with
    EVALUATE = "evaluate"  # a model for the evaluator
    CHECKPOINT = "checkpoint"  # what survives the crash of a node
    TASK = "task"  # a training for the host's workers
    RESULT = "result"  # the result of such a training

    GO = "go"  # only in the fidelity matrix: all senders begin


# The meta of every message between nodes.
SENT_AT: Final = "sent_at"  # float: when it was handed to the socket, in seconds of the clock

# The meta of models and data.
# int: the global round, while the header's fourth field is the server's local round. The key has
# nine characters because every byte of a header counts: it replaced one of that length.
GLOBAL_ROUND: Final = "for_round"

# The meta of models, where the method lets the server decide about the training.
EPOCHS: Final = "epochs"  # int: passes over the client's samples

# The meta of models of which only some entries are sent.
BASE: Final = "base"  # int: the local round of the model that they change

# The meta of updates.
SAMPLES: Final = "samples"  # int: how many samples the update stands for
LOSS: Final = "loss"  # float: the mean training loss of the last epoch; only from clients

# The meta of joins, where clients come and go.
SINCE: Final = "since"  # int: the number of the change that made the client join
HOLDS: Final = "holds"  # int: the local round of which it still has an update; 0 is none

# The meta of the welcome to such a join.
WANTED: Final = "wanted"  # int: the local round whose update is still wanted; 0 is none

# The meta of refusals.
REASON: Final = "reason"  # str: one of protocols.wire.REASONS

# The meta of models to evaluate.
EVALUATED_ROUND: Final = "round"  # int: the global round that gave this model
EVALUATED_KEY: Final = "key"  # str: "global", or the name of the node whose model it is
EVALUATED_OF: Final = "of"  # int, optional: how many models of this round are averaged as well
