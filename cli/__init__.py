"""The command line: one module per command, each of which only puts the other rooms to work."""
