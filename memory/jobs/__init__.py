"""Background work on memory: who may do it, how long it has, and the ledger of what was done."""
