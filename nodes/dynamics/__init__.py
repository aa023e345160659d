"""The parts of a run's timeline: a schedule, and what it does to links, cells and processes."""
