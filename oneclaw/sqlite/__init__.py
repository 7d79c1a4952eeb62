"""Django's SQLite backend on an interpreter's sqlite3 or on pysqlite3, with sqlite-vec loaded."""
