"""Fresh machines, made from nothing, and Metronome run on them as a new user would."""
