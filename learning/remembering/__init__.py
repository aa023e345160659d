"""Trainings and evaluations that an earlier run has done need not be done again."""
