"""What models are worth: scores on the test set, off the clock."""
