"""Evaluation of models on the test set, off the run's clock."""
