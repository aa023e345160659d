"""The emulated network: topologies, link shaping, backends, measurements. No learning in here."""
