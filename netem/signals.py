"""Files in the spool by which the runner outside talks to the inside."""

INTERACTIVE = "interactive"  # stop in Mininet's CLI before the nodes start
WORKERS_READY = "workers-ready"  # training may begin
