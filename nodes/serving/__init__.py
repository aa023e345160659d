"""The parts of a server's rounds: who takes part, what they are sent, and how long it waits."""
