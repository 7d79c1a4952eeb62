"""The tables that find candidates: full text always, vectors where sqlite-vec can be loaded."""

from django.db import migrations

from memory.index import fulltext, vectors
from oneclaw.sqlite.vectors import has_vectors


def create(apps, schema_editor):
    fulltext.create()
    if has_vectors():
        vectors.table(384)


def drop(apps, schema_editor):
    vectors.drop_all()
    fulltext.drop("memory_vocabulary")
    fulltext.drop("memory_fulltext")


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
