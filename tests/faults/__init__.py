"""The trial: real runs are disturbed, one fault each, and must end as docs/reliability.md promises.

`./metronome test --faults` draws the disturbances from a seed, and prints a table.
"""
