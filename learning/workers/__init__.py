"""The pool of training processes on the host, which nodes reach through the spool."""
