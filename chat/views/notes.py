"""Commands typed into the composer, and the buttons of the notes they leave."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat.commands import commands, notes
from chat.commands.commands import Place, Typed
from chat.models import Session
from chat.replies import sending
from chat.sessions import thread
from people.access import UserRequest


def command(request: UserRequest, chat: Session | None, typed: Typed) -> HttpResponse:
    """Run what was typed and show what came of it, in the chat or on the page of a new one; or refuse it."""
    outcome = commands.run(Place(request.user, chat), typed)
    if outcome.data.get("failed"):
        # Nothing was done: what was typed stays in the composer, as with a message.
        raise sending.MessageRefused(outcome.text)
    if outcome.go_to:
        return HttpResponseClientRedirect(outcome.go_to) if request.htmx else redirect(outcome.go_to)
    if chat is None:
        notes.keep(request.session, outcome, typed.text)
        if not request.htmx:
            return redirect("home")
        return render(request, "chat/_note.html", {"note": notes.kept(request.session)})
    note = notes.write(chat, outcome, typed.text)
    if not request.htmx:
        return redirect("chat:session", chat.id)
    shown = {"session": chat, "page": thread.since(chat, note.id - 1)}
    return render(request, "chat/_messages.html", shown)


@login_required
@require_POST
def act(request: UserRequest, ref: int, action: str) -> HttpResponse:
    """Undo, forget or remember, as a note's button says."""
    if action not in notes.ACTIONS:
        raise Http404("No such action.")
    note = notes.load(request.user, ref, request.session)
    notes.ACTIONS[action](request.user, note, request.POST)
    notes.save(note, request.session)
    if request.htmx:
        return render(request, "chat/_note.html", {"note": note})
    return redirect("chat:session", note.message.session_id) if note.message else redirect("home")
