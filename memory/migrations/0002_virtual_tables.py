"""The tables that find candidates: full text always, vectors where the database can search them."""

from django.db import migrations

from memory.index import engines


def create(apps, schema_editor):
    engines.fulltext().create()
    engines.vectors().create()


def drop(apps, schema_editor):
    engines.vectors().drop_all()
    schema_editor.execute("DROP TABLE IF EXISTS memory_vocabulary")
    schema_editor.execute("DROP TABLE IF EXISTS memory_fulltext")


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
