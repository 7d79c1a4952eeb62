"""Providers: adding, finding and changing them, what they offer, and a model on this machine."""
