"""Memory for other programs, by the Model Context Protocol: over HTTP and on a program's own pipes."""
