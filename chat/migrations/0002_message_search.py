"""The full-text table of the search over chats; its terms are made in Python, so that all scripts match."""

from django.db import migrations

SQLITE = """
CREATE VIRTUAL TABLE chat_message_search USING fts5(
    owner, terms, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
)
"""
POSTGRES = """
CREATE TABLE chat_message_search (message_id bigint PRIMARY KEY, terms tsvector NOT NULL);
CREATE INDEX chat_message_search_terms ON chat_message_search USING gin (terms);
"""


def create(apps, schema_editor):
    schema_editor.execute(POSTGRES if schema_editor.connection.vendor == "postgresql" else SQLITE)


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]

    operations = [
        migrations.RunPython(create, lambda apps, editor: editor.execute("DROP TABLE chat_message_search"))
    ]
