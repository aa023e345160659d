"""Runs set side by side: groups, metrics, tables."""
