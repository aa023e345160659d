"""Metronome beside others: the same federated averaging in Flower, and both codecs."""
