"""Pages about connections, and the addresses at which other programs speak to OneClaw."""
