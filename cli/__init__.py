"""The command line: each command walks the road from a scenario to its report."""
