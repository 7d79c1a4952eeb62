"""The whole URL map with a victim's own numbers in it, found by itself: a new address is attacked, too."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from chat.commands import notes
from chat.models import AiModel, Provider
from chat.views import lists
from connect.models import Export, Import, Token
from memory.models import Forgotten
from tests.security.victim import BACKUP, DAY, Victim, of

ROOMS = ("chat", "memory", "people", "oneclaw", "connect")
# Arguments that name nothing of any one person's.
NOBODYS = {"provider_id", "model_id", "app_label", "url", "action", "model_name", "rest"}
ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True, slots=True)
class Address:
    """A pattern of the map, and a path that it answers to."""

    route: str
    path: str
    # Whether something of the victim's is named in the path.
    personal: bool

    def __str__(self) -> str:
        return self.route


def patterns(resolver: URLResolver | None = None, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every pattern of the map with its whole route."""
    for each in (resolver or get_resolver()).url_patterns:
        route = before + str(each.pattern).removeprefix("^")
        if isinstance(each, URLResolver):
            yield from patterns(each, route)
        else:
            yield route.removesuffix("$"), each


def addresses(victim: Victim, model: AiModel) -> list[Address]:
    """A path or more for each pattern; fails where a pattern wants an argument that is not known here."""
    return [address for route, _ in patterns() for address in filled(route, victim, model)]


def filled(route: str, victim: Victim, model: AiModel) -> Iterator[Address]:
    names = [first or second for first, second in ARGUMENT.findall(route)]
    values = [samples(route, name, victim, model) for name in names]
    personal = bool(set(names) - NOBODYS)
    for chosen in product(*values):
        given = iter(chosen)
        path = "/" + ARGUMENT.sub(lambda _: str(next(given)), route)  # noqa: B023
        assert resolve(path), path
        yield Address(route, path, personal)


def samples(route: str, name: str, victim: Victim, model: AiModel) -> list[Any]:
    """Values for an argument of a route: the victim's own wherever there are such."""
    if name == "object_id":
        return admin_rows(route, victim)
    if name == "action" and route.startswith("settings/people/"):
        return ["reset", "disable", "enable"]
    if name == "action" and "/forgetting/" in route:
        return ["undo", "purge", "allow"]
    if name == "action" and "/imports/" in route:
        return ["start", "stop", "undo", "discard"]
    if name == "action":
        return list(notes.ACTIONS if "/notes/" in route else lists.ACTIONS)
    known: dict[str, list[Any]] = {
        "session_id": [victim.session.pk],
        "run_id": [victim.run.pk],
        "message_id": [victim.message.pk],
        "ref": [victim.note.pk],
        "attachment_id": [victim.attachment.pk],
        "agent_id": [victim.agent.pk],
        "provider_id": [model.provider_id],
        "model_id": [model.pk],
        "revision_id": [victim.revision.pk],
        "proposal_id": [victim.proposal.pk],
        "entry_id": [victim.ledger.pk],
        "removed_id": [victim.removed.pk],
        "forgotten_id": [row.pk for row in of(victim.user, Forgotten)],
        "day": [DAY],
        "name": [BACKUP],
        "id": [victim.user.pk],
        "person_id": [victim.user.pk],
        "invitation_id": [10**6],
        "token": ["made-up"],
        "import_id": [row.pk for row in of(victim.user, Import)],
        "export_id": [row.pk for row in of(victim.user, Export)],
        "token_id": [row.pk for row in of(victim.user, Token)],
        "app_label": ["chat", "memory", "people"],
        "content_type_id": [ContentType.objects.get_for_model(type(victim.message)).pk],
        "url": ["nothing/here/"],
        "model_name": [model.name],
        "rest": ["embeddings"],
    }
    assert name in known, f"The address {route} is new: give a sample for its argument `{name}` here."
    return known[name]


def admin_rows(route: str, victim: Victim) -> list[Any]:
    """A row of the victim's in the model that a page of the admin site is about."""
    found = re.match(r"admin/(\w+)/(\w+)/", route)
    if found is None or found[1] not in ROOMS:
        return [victim.message.pk]
    model = apps.get_model(found[1], found[2])
    if model is type(victim.user):
        return [victim.user.pk]
    if model in (Provider, AiModel):
        return [model._default_manager.values_list("pk", flat=True).first()]
    return [of(victim.user, model).values_list("pk", flat=True).first()]


def form(victim: Victim) -> dict[str, Any]:
    """A value for every field that any view reads from a form, aimed at the victim's things."""
    known = {
        "action": "delete",
        "agent": victim.agent.pk,
        "attachment": [str(victim.attachment.pk)],
        "base": "",
        "id": [str(victim.session.pk), str(victim.deleted.pk)],
        "key": "0" * 16,
        "memory_mode": "off",
        "model": "",
        "name": "mine",
        "page": "mine",
        "position": "0",
        "post": "yes",
        "anchor": str(victim.message.pk),
        "date": str(DAY),
        "next": "/",
        "source": "daily_log",
        "undo": "1",
        "q": "mine",
        "ref": "0",
        "section": "Notes",
        "session": str(victim.session.pk),
        "temporary": "1",
        "text": "mine",
        "theme": "dark",
        "title": "mine",
        "username": victim.user.username,
        "words": "mine",
        "size": "100",
        "stop": "1",
        "zone": "Asia/Tokyo",
        "code": "AAAA-AAAA-AAAA",
        "from": "entries",
        "is_admin": "on",
        "password": "wrong",
        "password1": "mine for the taking",
        "password2": "mine for the taking",
        "prompt": "mine",
        "models": "mine",
        "_selected_action": [victim.user.pk],
    }
    unknown = fields_read() - set(known)
    assert not unknown, f"Views read {unknown} from forms: give samples here."
    return known


def fields_read() -> set[str]:
    found = set[str]()
    for room in ROOMS:
        for file in (Path(settings.BASE_DIR) / room).rglob("*.py"):
            found |= set(re.findall(r"POST\.(?:get|getlist)\(\"(\w+)\"", file.read_text()))
    return found


def switches_read() -> set[str]:
    """Fields whose presence alone decides what a view does: what it does without them is tried, too."""
    found = set[str]()
    for room in ROOMS:
        for file in (Path(settings.BASE_DIR) / room).rglob("*.py"):
            found |= set(re.findall(r"\"(\w+)\" in request\.POST", file.read_text()))
    return found


def parameters_read() -> set[str]:
    """Every parameter that any view reads from an address."""
    found = set[str]()
    for room in ROOMS:
        for file in (Path(settings.BASE_DIR) / room).rglob("*.py"):
            found |= set(
                re.findall(r"(?:GET\.(?:get|getlist)\(|place\(request, )\"(\w+)\"", file.read_text())
            )
    return found
