"""What the benchmark and its app in Flower's environment call the things they share."""

RUN = "METRONOME_PEERS_RUN"  # the environment variable that names the prepared run directory
ROUNDS = "flower-rounds"  # a line in it for each round that has ended: "3/10"
FINAL = "flower-final.npz"  # the last model
