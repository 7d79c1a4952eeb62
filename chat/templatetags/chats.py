"""The `chat_of` tag: the reader's own chat by its id, for pages that point to where something was said."""

from uuid import UUID

from django import template

from chat.models import Session

register = template.Library()


@register.simple_tag(takes_context=True)
def chat_of(context: template.RequestContext, session_id: UUID | str) -> Session | None:
    """None for a chat that is deleted, somebody else's, or was never there."""
    try:
        wanted = UUID(str(session_id))
    except ValueError:
        return None
    owner = context["request"].user
    return Session.objects.filter(owner=owner, pk=wanted, deleted_at=None).first()
