"""Addresses of the chat: home, one chat (namespace `chat`), and its pages under /settings/."""

from django.urls import URLPattern, URLResolver, include, path

from chat.views import (
    agents,
    details,
    files,
    lists,
    models,
    notes,
    pages,
    providers,
    replies,
    stream,
    usage,
)

chat_patterns: list[URLPattern | URLResolver] = [
    path("", lists.sidebar, name="list"),
    path("search/", lists.find, name="search"),
    path("start/", replies.start, name="start"),
    path("all/<slug:action>/", lists.act, name="act"),
    path("files/", files.attach, name="attach"),
    path("files/<uuid:attachment_id>/", files.show, name="file"),
    path("files/<uuid:attachment_id>/small/", files.thumbnail, name="thumbnail"),
    path("files/<uuid:attachment_id>/remove/", files.detach, name="detach"),
    path("notes/<int:ref>/<slug:action>/", notes.act, name="note"),
    path("<uuid:session_id>/", pages.session, name="session"),
    path("<uuid:session_id>/older/", pages.older, name="older"),
    path("<uuid:session_id>/updates/", pages.updates, name="updates"),
    path("<uuid:session_id>/send/", replies.send, name="send"),
    path("<uuid:session_id>/runs/<uuid:run_id>/stream/", stream.follow, name="stream"),
    path("<uuid:session_id>/stop/", replies.stop, name="stop"),
    path("<uuid:session_id>/choose/", replies.choose, name="choose"),
    path("<uuid:session_id>/compact/", replies.compact, name="compact"),
    path("<uuid:session_id>/leave/", replies.leave, name="leave"),
    path("<uuid:session_id>/end/", replies.end, name="end"),
    path("<uuid:session_id>/messages/<int:message_id>/retry/", replies.retry, name="retry"),
    path("<uuid:session_id>/messages/<int:message_id>/models/", replies.models, name="models"),
    path("<uuid:session_id>/messages/<int:message_id>/branch/", replies.branch, name="branch"),
    path("<uuid:session_id>/messages/<int:message_id>/edit/", replies.edit, name="edit"),
    path("<uuid:session_id>/messages/<int:message_id>/version/", replies.version, name="version"),
    path("<uuid:session_id>/messages/<int:message_id>/", details.message, name="message"),
    path("<uuid:session_id>/messages/<int:message_id>/record/", details.record, name="record"),
    path("<uuid:session_id>/messages/<int:message_id>/text/", details.text, name="text"),
    path("<uuid:session_id>/messages/<int:message_id>/receipt/", details.receipt, name="receipt"),
    path("<uuid:session_id>/usage/", usage.of_chat, name="usage"),
    path("<uuid:session_id>/heading/", details.heading, name="heading"),
    path("<uuid:session_id>/rename/", lists.rename, name="rename"),
    path("<uuid:session_id>/row/", lists.row, name="row"),
    path("<uuid:session_id>/export.md", lists.download, {"form": "md"}, name="export_markdown"),
    path("<uuid:session_id>/export.zip", lists.download, {"form": "zip"}, name="export_zip"),
    path("<uuid:session_id>/export.json", lists.download, {"form": "json"}, name="export_json"),
]

settings_patterns: list[URLPattern | URLResolver] = [
    path("providers/", providers.index, name="providers"),
    path("providers/new/", providers.create, name="new_provider"),
    path("providers/find/", providers.find, name="find_providers"),
    path("providers/<int:provider_id>/", providers.edit, name="provider"),
    path("providers/<int:provider_id>/delete/", providers.delete, name="delete_provider"),
    path("providers/<int:provider_id>/models/", models.available, name="available_models"),
    path("providers/<int:provider_id>/models/add/", models.add, name="add_models"),
    path("models/<int:model_id>/", models.edit, name="model"),
    path("models/<int:model_id>/delete/", models.delete, name="delete_model"),
    path("models/<int:model_id>/default/", models.make_default, name="default_model"),
    path("usage/", usage.index, name="usage"),
    path("agents/", agents.index, name="agents"),
    path("agents/new/", agents.create, name="new_agent"),
    path("agents/<int:agent_id>/", agents.edit, name="agent"),
    path("agents/<int:agent_id>/clone/", agents.clone, name="clone_agent"),
    path("agents/<int:agent_id>/delete/", agents.delete, name="delete_agent"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", pages.home, name="home"),
    path("chat/", include((chat_patterns, "chat"))),
]
