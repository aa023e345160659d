"""Background traffic: packets that are not part of the training but share its queues."""
