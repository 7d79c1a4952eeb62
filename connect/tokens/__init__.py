"""Personal tokens: made once, kept as hashes, shown with ready configuration, and what comes with one."""
