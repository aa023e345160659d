"""Comparisons of runs: groups, metrics and tables."""
