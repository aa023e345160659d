"""Data sets, and how their samples are distributed to clients and the server."""
