"""Measures memory: what it recalls, and how long it takes, beside the bare embedding model."""
