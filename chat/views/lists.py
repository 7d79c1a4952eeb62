"""The list of chats: pages of it, search, and what can be done to one or many."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from chat import memory
from chat.models import Session
from chat.sessions import export, search, sessions
from chat.sessions.context import open_chat, path_of_page
from people.access import UserRequest

ACTIONS = ("pin", "unpin", "archive", "unarchive", "delete", "undelete")


@login_required
@require_safe
def sidebar(request: UserRequest) -> HttpResponse:
    """The list, or its next page by `?cursor=`."""
    archived = request.GET.get("archived") == "1"
    page = sessions.page(request.user, request.GET.get("cursor", ""), archived=archived)
    template = "chat/_sessions.html" if request.GET.get("cursor") else "chat/_sidebar.html"
    if not request.htmx:
        # The frame around it has a list of its own.
        return render(request, "chat/sessions.html", {"shown": page})
    return render(request, template, {"list": page})


@login_required
@require_safe
def find(request: UserRequest) -> HttpResponse:
    """Chats and memories for what is typed into the search field."""
    query = request.GET.get("q", "").strip()[:200]
    hits = search.find(request.user, query)
    context = {"query": query, "chats": search.by_chat(hits), "memories": memory.found(request.user, query)}
    return render(request, "chat/_found.html" if request.htmx else "chat/search.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: UserRequest, session_id: UUID) -> HttpResponse:
    chat = sessions.lasting(request.user, session_id)
    if request.method == "GET":
        template = "chat/_rename.html" if request.htmx else "chat/rename.html"
        return render(request, template, {"chat": chat})
    sessions.rename(chat, request.POST.get("title", ""))
    address = reverse("chat:session", args=[chat.id])
    if not request.htmx:
        return redirect(address)
    if path_of_page(request) == request.path:
        return HttpResponseClientRedirect(address)
    return render(request, "chat/_renamed.html", {"chat": chat, "is_open": path_of_page(request) == address})


@login_required
@require_safe
def row(request: UserRequest, session_id: UUID) -> HttpResponse:
    """One row of the list again, after a rename was cancelled or a title was made."""
    return render(request, "chat/_session.html", {"chat": sessions.owned(request.user, session_id)})


@login_required
@require_POST
def act(request: UserRequest, action: str) -> HttpResponse:
    """Pin, archive, delete or bring back the chats named in `id`, one or many."""
    if action not in ACTIONS:
        raise Http404("No such action.")
    ids = uuids(request.POST.getlist("id"))
    if action == "delete":
        ids = sessions.delete(request.user, ids)
    elif action == "undelete":
        ids = sessions.undelete(request.user, ids)
    elif action.endswith("pin"):
        sessions.pin(sessions.of(request.user).filter(id__in=ids), action == "pin")
    else:
        sessions.archive(sessions.of(request.user).filter(id__in=ids), action == "archive")
    if not request.htmx:
        return acted(request, action, ids)
    if action in ("archive", "delete") and open_chat(request) in map(str, ids):
        # The page behind the list is that of a chat which is gone.
        return HttpResponseClientRedirect(acted(request, action, ids).url)
    if path_of_page(request) == reverse("chat:list"):
        # The row is also in the page's own list.
        acted(request, action, ids)
        return HttpResponseClientRefresh()
    context = {"list": sessions.page(request.user), "done": action, "ids": ids}
    return render(request, "chat/_sidebar.html", context)


def acted(request: UserRequest, action: str, ids: list[UUID]) -> HttpResponseRedirect:
    """The chat again if it is still there, else a new one; a deletion can be undone from the toast."""
    if action == "delete":
        note = f"{len(ids)} chats deleted" if len(ids) > 1 else "Chat deleted"
        messages.success(request, note, extra_tags=" ".join(["undo", *map(str, ids)]))
    if action in ("archive", "delete") or len(ids) != 1:
        return redirect("home")
    return redirect("chat:session", ids[0])


def uuids(values: list[str]) -> list[UUID]:
    try:
        return [UUID(value) for value in values[:1000]]
    except ValueError:
        raise Http404("No such chat.") from None


EXPORTS: dict[str, tuple[Callable[[Session], str | bytes], str]] = {
    "md": (export.as_markdown, "text/markdown; charset=utf-8"),
    "json": (export.as_json, "application/json; charset=utf-8"),
    "zip": (export.as_zip, "application/zip"),
}


@login_required
@require_safe
def download(request: UserRequest, session_id: UUID, form: str) -> HttpResponse:
    """The chat as a file: Markdown, JSON, or both with what was attached."""
    chat = sessions.lasting(request.user, session_id)
    make, kind = EXPORTS[form]
    response = HttpResponse(make(chat), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{export.file_name(chat)}.{form}"'
    return response
