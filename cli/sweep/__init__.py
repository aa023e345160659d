"""`metronome sweep`: many runs, several at a time, and their comparison."""
