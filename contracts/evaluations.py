"""The values of `key` in evaluations.jsonl, which say whose model a line is about.

Where there are several top nodes (edge servers without a cloud, clients without a server), the key
is the name of one of them. Otherwise it is one of these.
"""

GLOBAL = "global"  # the model of the only top server
AVERAGE = "average"  # the plain mean of a round's models of all edge servers
DISSIMILARITY = "dissimilarity"  # no model, but how much gradients differ at the global model
