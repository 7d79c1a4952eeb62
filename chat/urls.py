"""Addresses of the chat: home, one chat (namespace `chat`), and its pages under /settings/."""

from django.urls import URLPattern, URLResolver, include, path

from chat import views

chat_patterns: list[URLPattern | URLResolver] = []

settings_patterns: list[URLPattern | URLResolver] = []

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("chat/", include((chat_patterns, "chat"))),
]
