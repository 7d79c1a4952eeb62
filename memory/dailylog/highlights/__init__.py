"""Highlights: a day's log without a model, in the user's own sentences."""
