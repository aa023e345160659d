"""The networks that are trained, by name, and what a training step of each costs."""
