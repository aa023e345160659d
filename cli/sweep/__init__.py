"""`metronome sweep`: executes many runs, several at a time, and compares them."""
