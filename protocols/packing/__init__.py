"""Smaller messages: what a scenario's [wire] does to models and updates on their way."""
