"""The admin site: no shell, nobody's content, and no model that is not on this list."""

from html import unescape
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin import ModelAdmin, site
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import resolve
from django_q.models import Schedule

from oneclaw.site.readonly import unquoted
from people.models import User
from tests.security.victim import SECRET, Victim, of, own_models, unfilled

# What an admin may do to each model that has a page: add, change, delete. Nothing else has one.
ALLOWED = {
    "people.User": "add change delete",
    "people.Invitation": "",
    "chat.Provider": "change delete",
    "chat.AiModel": "add change delete",
    "chat.Agent": "",
    "chat.Attachment": "",
    "chat.Message": "",
    "chat.OpenPage": "",
    "chat.Run": "",
    "chat.Session": "",
    "memory.Claim": "",
    "memory.EntryUse": "",
    "memory.Forgotten": "",
    "memory.IndexChange": "",
    "memory.IndexState": "",
    "memory.IndexedSource": "",
    "memory.LastSaid": "",
    "memory.LedgerEntry": "",
    "memory.MemoryIndex": "",
    "memory.PendingEntry": "",
    "memory.Proposal": "",
    "memory.Rebuild": "",
    "memory.RemovedEntries": "",
    "memory.Revision": "",
    "memory.WorkInProgress": "",
    "django_q.Failure": "",
    "django_q.Schedule": "",
    "axes.AccessAttempt": "delete",
}


def path(model: type[Model], *parts: object) -> str:
    return "/".join(["/admin", model._meta.app_label, model._meta.model_name or "", *map(str, parts), ""])


def test_only_listed_models_have_a_page_with_only_the_listed_rights(ada: User) -> None:
    """Fails when a dependency, or a new room of ours, registers another model."""
    found = {}
    for model, page in site._registry.items():
        request = RequestFactory().get(path(model))
        request.user = ada
        request.resolver_match = resolve(path(model))
        rights = {
            "add": page.has_add_permission(request),
            "change": page.has_change_permission(request),
            "delete": page.has_delete_permission(request),
        }
        found[model._meta.label] = " ".join(right for right, granted in rights.items() if granted)
    assert found == ALLOWED


def test_what_a_dependency_registers_by_itself_is_left_out() -> None:
    site.register(Permission)
    site.register([Permission], ModelAdmin)
    django_admin.register(Permission)(
        type("PermissionAdmin", (ModelAdmin,), {"__module__": "django_q.admin"})
    )
    assert not site.is_registered(Permission)


def test_no_schedule_is_made_or_changed_here(admin: Client) -> None:
    shell = {"name": "x", "func": "os.system", "args": "'id'", "schedule_type": "O", "repeats": "-1"}
    row = Schedule.objects.create(name="ours", func="oneclaw.schedules.clear_sessions")
    for page in (path(Schedule, "add"), path(Schedule, row.pk, "change")):
        assert admin.get(page).status_code in (403, 404)
        assert admin.post(page, shell).status_code in (403, 404)
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    admin.post(path(Schedule), chosen)
    assert Schedule.objects.filter(pk=row.pk, func="oneclaw.schedules.clear_sessions").exists()
    assert not Schedule.objects.filter(func="os.system").exists()


@pytest.mark.parametrize("label", [label for label, rights in ALLOWED.items() if not rights])
def test_read_only_means_every_page_of_the_model(admin: Client, victim: Victim, label: str) -> None:
    model = next(model for model in site._registry if model._meta.label == label)
    row = model._default_manager.first()
    key = row.pk if row else 1
    assert admin.get(path(model)).status_code == 200
    for parts in (("add",), (key, "change"), (key, "delete"), (key, "history")):
        for answer in (admin.get(path(model, *parts)), admin.post(path(model, *parts), {"post": "yes"})):
            assert answer.status_code in (403, 404), parts
    chosen = {"action": "delete_selected", "_selected_action": [key], "post": "yes"}
    admin.post(path(model), chosen)
    assert row is None or model._default_manager.filter(pk=row.pk).exists()


def test_nothing_that_anybody_said_is_shown(admin: Client, victim: Victim) -> None:
    assert unfilled() == []
    pages = ["/admin/", "/admin/chat/", "/admin/memory/", "/admin/people/"]
    models: list[type[Model]] = [*own_models(), User]
    for model in models:
        rows = of(victim.user, model) if model is not User else User.objects.all()
        pages += [path(model), f"{path(model)}?o=1"]
        for row in rows:
            parts = ("change", "delete", "history")
            pages += [path(model, row.pk, part) for part in parts]
    shown = [page for page in pages if SECRET in unescape(admin.get(page).content.decode())]
    assert not shown
    # Deleting an account says how much goes with it, and not what.
    page = admin.get(path(User, victim.user.pk, "delete")).content.decode()
    assert "Messages: 4" in unescape(page)


@pytest.mark.parametrize(
    "label", [label for label in ALLOWED if label.startswith(("chat.", "memory.", "people."))]
)
def test_nothing_that_anybody_said_is_found(admin: Client, victim: Victim, label: str) -> None:
    """Neither by the search box nor by a filter in the address, which would tell by the number of rows."""
    model = next(model for model in site._registry if model._meta.label == label)
    nothing = count(admin, f"{path(model)}?q=nosuchwordanywhere")
    assert count(admin, f"{path(model)}?q={SECRET}") == nothing
    kinds = ("CharField", "TextField", "JSONField")
    for field in model._meta.concrete_fields:
        if field.get_internal_type() not in kinds:
            continue
        for lookup in ("contains", "icontains", "startswith", "regex", "exact", "gt"):
            answer = admin.get(path(model), {f"{field.name}__{lookup}": SECRET})
            allowed = field.name in filters(site._registry[model])
            assert allowed or answer.status_code in (302, 400), (field.name, lookup)
    for through in ("sessions__title", "owner__sessions__title", "session__title", "owner__password"):
        assert admin.get(path(model), {f"{through}__startswith": SECRET}).status_code in (302, 400)


def filters(page: "ModelAdmin[Any]") -> set[str]:
    return {str(name) for name in page.list_filter}


def count(admin: Client, page: str) -> int:
    listed = admin.get(page).context["cl"]
    return int(listed.result_count)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("MEMORY.md can't be written: No space left.", "MEMORY.md can't be written: No space left."),
        ("It lost 3 of 4 entries, such as “Lives in Lisbon”.", "It lost 3 of 4 entries, such as …"),
        ("It says: “He said ”yes” twice", "It says: …"),
        ("invalid literal for int(): 'secret'", "invalid literal for int(): …"),
        ('KeyError "secret"', "KeyError …"),
    ],
)
def test_an_error_is_shown_up_to_what_it_quotes(said: str, shown: str) -> None:
    assert unquoted(said) == shown
