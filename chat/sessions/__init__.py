"""Chats: their list, what is read of them on a page, search over them, agents and export."""
