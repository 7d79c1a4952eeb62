from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_speakers(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Who wrote the message that a row is of; which parts of it were pasted, the next rebuild tells."""
    rows, messages = apps.get_model("memory", "MemoryIndex").objects, apps.get_model("chat", "Message").objects
    for kind, speaker in (("user", "user"), ("ai_response", "assistant")):
        said = messages.filter(type=kind).values("id")
        rows.filter(source_type="transcript", anchor__in=said).update(speaker=speaker)


class Migration(migrations.Migration):
    dependencies = [("memory", "0004_last_said"), ("chat", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="memoryindex",
            name="speaker",
            field=models.CharField(
                blank=True,
                choices=[
                    ("user", "You"),
                    ("assistant", "Assistant"),
                    ("pasted", "Pasted text"),
                    ("played", "Role-play"),
                ],
                default="",
                max_length=10,
            ),
        ),
        migrations.RunPython(name_speakers, migrations.RunPython.noop),
    ]
