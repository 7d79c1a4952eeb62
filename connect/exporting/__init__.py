"""Exporting: everything of a person in one ZIP, to be read by people and taken in by another OneClaw."""
