"""Attached files: taken into the composer, taken out again, and shown to their owner alone."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from chat.attachments import storage, uploads
from chat.attachments.kinds import FileRefused
from chat.models import Attachment, Session
from chat.sessions import sessions
from people.access import UserRequest

# The longest side of a thumbnail: twice what the page shows, for screens that show two dots as one.
THUMBNAIL = 480
# Whatever a browser takes the bytes for, nothing in them runs, loads or frames anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@login_required
@require_POST
def attach(request: UserRequest) -> HttpResponse:
    """A file for the composer of a chat, or the reason why not, as plain text."""
    chat = composing(request)
    file = request.FILES.get("file")
    if file is None:
        return HttpResponse("Choose a file first.", status=422, content_type="text/plain; charset=utf-8")
    try:
        attachment = uploads.receive(request.user, chat, file)
    except FileRefused as refusal:
        return HttpResponse(str(refusal), status=422, content_type="text/plain; charset=utf-8")
    return render(request, "chat/_attached.html", {"file": attachment})


def composing(request: UserRequest) -> Session | None:
    """The chat in whose composer this happens; none for a new one."""
    given = request.POST.get("session", "")
    if not given:
        return None
    try:
        return sessions.owned(request.user, UUID(given))
    except ValueError:
        raise Http404("No such chat.") from None


@login_required
@require_POST
def detach(request: UserRequest, attachment_id: UUID) -> HttpResponse:
    """Take a file out of the composer."""
    found = uploads.owned(request.user, attachment_id)
    if found is None or not uploads.remove(request.user, attachment_id):
        raise Http404("No such file.")
    if request.htmx:
        return HttpResponse()
    return redirect("chat:session", found.session_id) if found.session_id else redirect("home")


@login_required
@require_safe
def show(request: UserRequest, attachment_id: UUID) -> HttpResponse:
    """The whole file: a picture to look at, anything else to save."""
    found = existing(request, attachment_id)
    return sent(found, storage.read(found.owner_id, found.sha256), found.media_type)


@login_required
@require_safe
def thumbnail(request: UserRequest, attachment_id: UUID) -> HttpResponse:
    found = existing(request, attachment_id)
    if not found.is_image:
        raise Http404("Not a picture.")
    data = storage.smaller(found.owner_id, found.sha256, THUMBNAIL)
    return sent(found, data, storage.media_type_of(data or b""))


def existing(request: UserRequest, attachment_id: UUID) -> Attachment:
    found = uploads.owned(request.user, attachment_id)
    if found is None:
        raise Http404("No such file.")
    return found


def sent(attachment: Attachment, data: bytes | None, media_type: str) -> HttpResponse:
    """The bytes with headers that leave a browser nothing to guess."""
    if data is None:
        raise Http404("The file is no longer there.")
    response = HttpResponse(data, content_type=media_type)
    disposition = content_disposition_header(not attachment.is_image, attachment.name)
    response["Content-Disposition"] = disposition or "attachment"
    response["Content-Security-Policy"] = POLICY
    response["X-Content-Type-Options"] = "nosniff"
    return response
