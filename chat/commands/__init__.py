"""Commands typed in the composer, and the notes that answer them."""
