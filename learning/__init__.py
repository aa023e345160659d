"""Data sets, partitions, models, local training and evaluation. It knows no network."""
