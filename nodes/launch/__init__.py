"""The parts of the launcher: the nodes' processes, link measurements, and the ends of rounds."""
