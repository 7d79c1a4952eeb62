"""Have every chat read again: what the index holds of secrets in them is masked now."""

from django.db import migrations


def read_again(apps, schema_editor):
    apps.get_model("memory", "IndexState").objects.update(last_message=0)


class Migration(migrations.Migration):
    dependencies = [("memory", "0005_speaker")]

    operations = [migrations.RunPython(read_again, migrations.RunPython.noop)]
