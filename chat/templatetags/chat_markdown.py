"""The `markdown` filter: a reply's text as safe HTML."""

from importlib import import_module

from django import template
from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter(name="markdown")
def as_html(text: str) -> SafeString:
    try:
        html: SafeString = import_module("chat.markdown").render(text)
    except ImportError:
        html = mark_safe(linebreaks(text, autoescape=True))  # noqa: S308  (escaped)
    return html
