"""The emulated network: topologies, link shaping, backends and fidelity. It knows no learning."""
