"""Forgetting: which entries a request to forget is about."""
