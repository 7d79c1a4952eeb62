"""The tools a model may call: their registry, the check of arguments, and the clock."""
