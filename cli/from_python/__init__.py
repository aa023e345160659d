"""What `import metronome` gives: runs as objects, their records as columns, figures to look at."""
