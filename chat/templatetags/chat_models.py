"""What templates say of the model on this machine."""

from django import template

from chat import localmodels
from chat.models import Session

register = template.Library()


@register.simple_tag
def model_notice(session: Session | str | None = None) -> localmodels.Notice | None:
    return localmodels.notice(session if isinstance(session, Session) else None)
