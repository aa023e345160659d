"""Data sets, partitions, models, local training and evaluation; nothing here uses the network."""
