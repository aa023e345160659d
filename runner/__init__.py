"""One run from a checked scenario to its records: prepare, start, follow, end."""
