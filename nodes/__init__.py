"""The processes inside the network: launcher, clients, edges and the cloud."""
