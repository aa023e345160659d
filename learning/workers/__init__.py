"""Training by processes on the host, behind the spool."""
