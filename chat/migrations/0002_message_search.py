"""The full-text table of the search over chats; its terms are made in Python, so that all scripts match."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
            CREATE VIRTUAL TABLE chat_message_search USING fts5(
                owner, terms, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
            )
            """,
            "DROP TABLE chat_message_search",
        )
    ]
