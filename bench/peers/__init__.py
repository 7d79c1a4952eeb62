"""OneClaw beside other stores: the same chunks, vectors and questions in one run. Needs the `peers` extra."""
