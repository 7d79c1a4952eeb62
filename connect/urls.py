"""URLs of what speaks to the world beyond the browser: archives, tokens, MCP, the /v1 endpoint."""

from django.urls import URLPattern, path

from connect.views import archives, tokens, v1

# Pages under /settings/, in the project's one namespace for them.
settings_patterns: list[URLPattern] = [
    path("connections/", tokens.connections, name="connections"),
    path("connections/<int:token_id>/revoke/", tokens.revoke, name="revoke_token"),
    path("data/", archives.data, name="data"),
    path("data/imports/", archives.upload, name="upload"),
    path("data/imports/<uuid:import_id>/", archives.look, name="import"),
    path("data/imports/<uuid:import_id>/part/", archives.part, name="upload_part"),
    path("data/imports/<uuid:import_id>/logs/", archives.logs, name="import_logs"),
    path("data/imports/<uuid:import_id>/<slug:action>/", archives.act, name="import_act"),
    path("data/exports/", archives.export, name="export"),
    path("data/exports/<uuid:export_id>/", archives.download, name="download"),
    path("data/delete/", archives.erase, name="erase"),
]

urlpatterns: list[URLPattern] = [
    path("v1/models", v1.models, name="v1_models"),
    path("v1/models/<path:model_name>", v1.model, name="v1_model"),
    path("v1/chat/completions", v1.completions, name="v1_completions"),
    path("v1", v1.unknown),
    path("v1/", v1.unknown),
    path("v1/<path:rest>", v1.unknown),
]
