"""Memory's pages: each view guards, loads, acts and renders one template."""
