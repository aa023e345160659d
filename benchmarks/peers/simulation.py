"""Flower's simulation engine, a Ray actor a core. Runs in Flower's own environment."""

import os

from flwr.simulation import run_simulation

from benchmarks.peers.flower_app import client, server, work

if __name__ == "__main__":
    run_simulation(
        server_app=server,
        client_app=client,
        num_supernodes=work().clients,
        backend_config={
            "init_args": {"num_cpus": len(os.sched_getaffinity(0)), "include_dashboard": False},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
