import chat.models
from django.db import migrations, models


class Migration(migrations.Migration):
    """How two columns are read changes; the table itself need not be made again."""

    dependencies = [
        ('chat', '0003_off_record'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='message',
                    name=name,
                    field=models.JSONField(blank=True, decoder=chat.models.Shallow, null=True),
                )
                for name in ('tool_data', 'wire_state')
            ],
        ),
    ]
