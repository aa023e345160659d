"""Packets that cross the network beside the training."""
