"""Sending, stopping, regenerating and switching between versions."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages as django_messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from chat import memory
from chat.attachments import uploads
from chat.attachments.kinds import FileRefused
from chat.commands import commands, notes
from chat.models import AiModel, Attachment, Session
from chat.replies import autocompact, sending, temporary, versions
from chat.sessions import branches, options, sessions, thread
from chat.views import notes as notes_views
from oneclaw.serving.pages import line
from people.access import UserRequest


@login_required
@require_POST
def start(request: UserRequest) -> HttpResponse:
    """The first message of a chat makes it; a command makes none."""
    text = request.POST.get("text", "")
    try:
        if typed := commands.parse(text):
            if request.POST.get("temporary"):
                raise sending.MessageRefused("Commands work here after your first message.")
            return notes_views.command(request, None, typed)
        chat = options.new_session(request.user, request.POST)
        files = attached(request, None)
        with line.turn():
            sending.send(chat, commands.unescaped(text), files)
            notes.offer(chat, text)
            notes.offer_to_forget(chat, text)
    except sending.MessageRefused as refusal:
        return refused(request, None, refusal)
    if request.htmx:
        return HttpResponseClientRedirect(reverse("chat:session", args=[chat.id]))
    return redirect("chat:session", chat.id)


@login_required
@require_POST
def send(request: UserRequest, session_id: UUID) -> HttpResponse:
    chat = sessions.owned(request.user, session_id)
    text = request.POST.get("text", "")
    try:
        if typed := commands.parse(text):
            return notes_views.command(request, chat, typed)
        files = attached(request, chat)
        with line.turn():
            run = sending.send(chat, commands.unescaped(text), files)
            notes.offer(chat, text)
            notes.offer_to_forget(chat, text)
            return said(request, chat, since=run.prompt_id - 1, files=files)
    except sending.MessageRefused as refusal:
        return refused(request, chat, refusal)


def attached(request: UserRequest, chat: Session | None) -> list[Attachment]:
    """What the composer holds, in its order; without scripts files come with the message itself."""
    try:
        came = [uploads.receive(request.user, chat, file) for file in request.FILES.getlist("files")]
        return uploads.chosen(
            request.user, [*request.POST.getlist("attachment"), *(str(each.id) for each in came)]
        )
    except FileRefused as refusal:
        raise sending.MessageRefused(str(refusal)) from None


def said(request: UserRequest, chat: Session, since: int, files: Sequence[Attachment] = ()) -> HttpResponse:
    """The new rows for the page that asked; without scripts, the chat's page."""
    if not request.htmx:
        return redirect("chat:session", chat.id)
    context = {"session": chat, "page": thread.since(chat, since), "sent": files}
    return render(request, "chat/_said.html", context)


def refused(request: UserRequest, chat: Session | None, refusal: "sending.MessageRefused") -> HttpResponse:
    """The composer again, with the reason and the text as it was."""
    text = request.POST.get("text", "")
    context: dict[str, Any] = {"session": chat, "text": text, "refusal": str(refusal)}
    context["temporary"] = chat.temporary if chat else bool(request.POST.get("temporary"))
    if not request.htmx:
        context |= {"waiting": uploads.waiting(request.user, chat)}
        return render(request, "chat/refused.html", context | options.offered(request.user, chat))
    response = render(request, "chat/_refusal.html", context)
    response["HX-Retarget"], response["HX-Reswap"] = "#refusal", "outerHTML"
    return response


@login_required
@require_POST
def stop(request: UserRequest, session_id: UUID) -> HttpResponse:
    """Stop what is being said in this chat, and what waits behind it, from whichever tab."""
    chat = sessions.owned(request.user, session_id)
    sending.stop(chat)
    return HttpResponse(status=204) if request.htmx else redirect("chat:session", chat.id)


@login_required
@require_POST
def retry(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """Another try at a reply, or another version of it: the earlier one is kept when it said something."""
    chat = sessions.owned(request.user, session_id)
    chosen = request.POST.get("model", "")
    versions.regenerate(chat, message_id, options.usable_model(chosen) if chosen else None)
    return messages(request, chat)


@login_required
@require_safe
def models(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """The models by which a reply can be made again."""
    chat = sessions.owned(request.user, session_id)
    item = thread.reply_with(chat, message_id)
    context = {"session": chat, "item": item, "models": AiModel.objects.usable()}
    return render(request, "chat/_models.html" if request.htmx else "chat/models.html", context)


@login_required
@require_POST
def branch(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """A new chat that goes on from a message of this one."""
    made = branches.branch(sessions.owned(request.user, session_id), message_id)
    return redirect("chat:session", made.id)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """A user's message again in other words; what followed it is kept as the earlier version."""
    chat = sessions.owned(request.user, session_id)
    message = versions.users_message(chat, message_id)
    text, refusal = request.POST.get("text", message.content), ""
    if request.method == "POST":
        try:
            versions.edit(chat, message, text)
            return messages(request, chat)
        except sending.MessageRefused as reason:
            refusal = str(reason)
    context = {"session": chat, "message": message, "text": text, "refusal": refusal}
    return render(request, "chat/_edit.html" if request.htmx else "chat/edit.html", context)


@login_required
@require_POST
def version(request: UserRequest, session_id: UUID, message_id: int) -> HttpResponse:
    """Turn to another version of a message, with all that followed it."""
    chat = sessions.owned(request.user, session_id)
    versions.switch(chat, message_id)
    return messages(request, chat)


def messages(request: UserRequest, chat: Session) -> HttpResponse:
    """The whole list of messages again: what is below the changed one is another conversation."""
    if not request.htmx:
        return redirect("chat:session", chat.id)
    response = render(request, "chat/_thread.html", {"session": chat, "page": thread.newest(chat)})
    response["HX-Retarget"], response["HX-Reswap"] = "#thread", "outerHTML"
    return response


@login_required
@require_POST
def compact(request: UserRequest, session_id: UUID) -> HttpResponse:
    """Summarise the chat's older part now; answers when that is done, with the note about it."""
    chat = sessions.owned(request.user, session_id)
    newest = thread.newest(chat).newest
    if reason := autocompact.by_hand(chat):
        django_messages.info(request, reason)
    return said(request, chat, since=newest)


@login_required
@require_POST
def end(request: UserRequest, session_id: UUID) -> HttpResponse:
    """The chat is over: it goes to the daily log now, and a new one begins."""
    chat = sessions.owned(request.user, session_id)
    if chat.memory_mode == Session.MemoryMode.NORMAL and request.user.memory_enabled:
        memory.ended(request.user, chat.id)
        django_messages.success(request, "This chat is being summarised for the daily log.")
    else:
        django_messages.info(
            request, "Memory is off or read-only here, so nothing was added to the daily log."
        )
    return redirect("home")


@login_required
@require_POST
def leave(request: UserRequest, session_id: UUID) -> HttpResponse:
    """A page of a temporary chat went away, or with `back` came again; `now` closes the chat at once."""
    chat = sessions.owned(request.user, session_id)
    if not chat.temporary:
        raise Http404("This chat stays.")
    if "now" in request.POST:
        temporary.close(chat)
        return redirect("home")
    page = request.POST.get("page", "")[:32]
    if "back" in request.POST:
        temporary.opened(chat, page)
    else:
        temporary.left(chat, page)
    return HttpResponse(status=204)


@login_required
@require_POST
def choose(request: UserRequest, session_id: UUID) -> HttpResponse:
    """The composer's choices for this chat: agent, model, memory mode; each may come alone."""
    chat = sessions.owned(request.user, session_id)
    newest = thread.newest(chat).newest
    options.apply(chat, request.POST)
    if not request.htmx:
        return redirect("chat:session", chat.id)
    context = {"session": chat, "page": thread.since(chat, newest)}
    return render(request, "chat/_choices.html", context | options.offered(request.user, chat))
