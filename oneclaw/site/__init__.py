"""Pages of the project itself: about, health, errors, and what makes it installable."""
