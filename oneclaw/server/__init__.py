"""Running OneClaw on a machine: the processes `up` starts, the web server, limits and static files."""
