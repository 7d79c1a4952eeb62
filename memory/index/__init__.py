"""The index of memory: chunks of files and chats with their words and vectors, made again at any time."""

from memory.index.index import Index

__all__ = ["Index"]
