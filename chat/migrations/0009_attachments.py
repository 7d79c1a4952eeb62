"""Pictures and files in messages; models that are known to see are marked so."""

import re

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


SEES = re.compile(
    r"^(gpt-(5|4\.1|4o|4-turbo)|chatgpt-4o|o[1-9](?!-mini|-preview))|claude-(3|[a-z]+-[4-9])|gemini|gemma-?3|llama-?4"
    r"|mistral-(medium|small)|pixtral|qwen[\d.]*-?vl|llava|vision"
)


def mark_those_that_see(apps, schema_editor):
    AiModel = apps.get_model("chat", "AiModel")
    for model in AiModel.objects.all():
        if SEES.search(model.name.lower().removeprefix("models/").rpartition("/")[2]):
            AiModel.objects.filter(pk=model.pk).update(supports_images=True)


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0008_agents_memory'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='aimodel',
            name='supports_images',
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(mark_those_that_see, migrations.RunPython.noop),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('position', models.PositiveSmallIntegerField(default=0)),
                ('name', models.CharField(max_length=200)),
                ('kind', models.CharField(choices=[('image', 'Picture'), ('text', 'Text'), ('pdf', 'PDF'), ('docx', 'Word document')], max_length=8)),
                ('media_type', models.CharField(max_length=100)),
                ('sha256', models.CharField(max_length=64)),
                ('size', models.PositiveBigIntegerField()),
                ('width', models.PositiveIntegerField(blank=True, null=True)),
                ('height', models.PositiveIntegerField(blank=True, null=True)),
                ('pages', models.PositiveIntegerField(blank=True, null=True)),
                ('text', models.TextField(blank=True, default='')),
                ('note', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='chat.message')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='chat.session')),
            ],
            options={
                'ordering': ['position', 'created_at'],
                'indexes': [models.Index(fields=['owner', 'sha256'], name='chat_attach_owner_i_7a8d53_idx'), models.Index(condition=models.Q(('message', None)), fields=['owner', 'session'], name='attachment_waiting')],
            },
        ),
    ]
