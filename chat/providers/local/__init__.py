"""A model on this machine: its weights, its server, and the provider that stands for it."""
