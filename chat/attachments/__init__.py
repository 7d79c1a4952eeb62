"""Pictures and files in messages: what is taken, how it is read, where it is kept, what a model gets."""
