"""Importing: what an archive would bring, bringing it, and taking it back."""
