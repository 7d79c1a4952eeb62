"""The project: settings, urls, the SQLite backend, encryption of secrets, and the one command `up`."""

__version__ = "0.1.0"
