"""How the runner asks the inside for Mininet's CLI."""

INTERACTIVE = "interactive"  # a file of this name in the spool
