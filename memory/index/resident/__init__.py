"""An index kept in memory: words, sign bits, small vectors and times of every chunk, so that a search reads
only the rows it shows. It is made from MemoryIndex, follows it, and can be thrown away at any time."""
