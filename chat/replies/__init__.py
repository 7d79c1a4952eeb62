"""Replies: a message is sent, a run makes the reply, and what follows it."""
