"""A model on this machine: finds a GGUF file, serves it on loopback, and says how that goes."""
