"""Whose words a message holds: its writer's, pasted text's, a character's; and which give orders."""
