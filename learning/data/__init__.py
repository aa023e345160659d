"""Data sets, and how their samples are dealt out to clients and server."""
