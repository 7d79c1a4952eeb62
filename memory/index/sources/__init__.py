"""What is indexed: a user's Markdown files and past chats."""
