"""What a request passes on its way to a page: start and stop, limits, order, static files."""
