"""An installation's rows carried from one database to another, between SQLite and PostgreSQL either way."""
