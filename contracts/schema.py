"""The version of the records' format, raised whenever a reader has to know the difference."""

# What changed with each number:
# 1  all runs from before there was a number
# 2  `local_round` replaces `number` in events.jsonl and membership.csv; plan.json and summary.json
#    have `provenance`; partition.npz names its clients client1, client2, ... like all other records
SCHEMA = 2
