"""Whose model a line of evaluations.jsonl is about: the values of its `key`.

The key is the name of a node where several nodes have nobody above them (edge servers without a
cloud, clients that train alone), or one of these.
"""

GLOBAL = "global"  # the model of the only top server
AVERAGE = "average"  # the plain mean of a round's models of all edge servers
DISSIMILARITY = "dissimilarity"  # no model: how far gradients were apart at the global one
