"""Backups of everything in the data folder that can't be made again, and putting one back."""
