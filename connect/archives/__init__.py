"""Archives of chats and notes: which kind a file is, and what it holds, read piece by piece."""
