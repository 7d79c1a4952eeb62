"""Settings → Import & export: archives in and out, and everything deleted."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_q.tasks import async_task

from chat.models import AiModel
from connect.exporting import work as exporting
from connect.importing import pastlogs, uploads
from connect.models import Erasure, Export, Import, LogWriting
from memory.manager import MemoryManager
from oneclaw.outside import number
from people.access import UserRequest
from people.models import User

PIECE = 2**18
SHOWN = 20


class EraseForm(forms.Form):
    password = forms.CharField(
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        max_length=1000,
    )

    def __init__(self, *args: Any, user: User, **named: Any) -> None:
        super().__init__(*args, **named)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError("Wrong password.")
        return password


def owned(request: UserRequest, import_id: UUID) -> Import:
    return get_object_or_404(Import.objects.select_related("owner"), pk=import_id, owner=request.user)


@login_required
@require_GET
def data(request: UserRequest) -> HttpResponse:
    """What came in and goes out."""
    context = {
        "imports": Import.objects.filter(owner=request.user).exclude(status=Import.Status.UPLOADING)[:SHOWN],
        "waiting": MemoryManager(request.user).waiting_for_vectors(),
        "erasure": Erasure.objects.filter(owner=request.user).first(),
        **_export_context(request.user),
    }
    return render(request, "connect/data.html", context)


@login_required
@require_POST
def upload(request: UserRequest) -> HttpResponse:
    """Begin an upload that comes in pieces; without a script, the file comes with the form."""
    file = request.FILES.get("file")
    try:
        if file is not None:
            import_ = uploads.begin(request.user, file.name or "", file.size or 0)
            uploads.add(import_, 0, file)
            return redirect("settings:import", import_.pk)
        size = number(request.POST.get("size", "")) or 0
        import_ = uploads.begin(request.user, request.POST.get("name", ""), size)
    except uploads.UploadRefused as reason:
        if request.POST.get("size"):
            return JsonResponse({"error": str(reason)}, status=409)
        messages.error(request, str(reason))
        return redirect("settings:data")
    return JsonResponse({"id": str(import_.pk), "received": 0})


@login_required
@require_POST
def part(request: UserRequest, import_id: UUID) -> JsonResponse:
    """One piece, at the place where the upload is; says where the next begins."""
    import_ = owned(request, import_id)
    offset = number(request.GET.get("offset", ""))
    try:
        uploads.add(import_, -1 if offset is None else offset, request)
    except uploads.UploadRefused as reason:
        import_.refresh_from_db()
        return JsonResponse({"error": str(reason), "received": import_.received}, status=409)
    return JsonResponse({"received": import_.received})


@login_required
@require_GET
def look(request: UserRequest, import_id: UUID) -> HttpResponse:
    """One import: what would come, how far it is, what came. HTMX asks for the middle of it again."""
    template = "connect/_import.html" if request.htmx else "connect/import.html"
    return render(request, template, _context(owned(request, import_id)))


def _context(import_: Import) -> dict[str, Any]:
    Status = Import.Status
    context: dict[str, Any] = {
        "import": import_,
        "can_go_on": import_.status in (Status.STOPPED, Status.FAILED) and import_.path.exists(),
        "logs": LogWriting.objects.filter(by=import_).first(),
    }
    if import_.status == Status.DONE:
        context["estimate"] = pastlogs.estimate(import_)
        context["waiting"] = MemoryManager(import_.owner).waiting_for_vectors()
        usable = AiModel.objects.usable().filter(provider__can_write_memory=True)
        context["models"] = list(usable.order_by("-is_default", "provider__name", "name"))
    return context


@login_required
@require_POST
def act(request: UserRequest, import_id: UUID, action: str) -> HttpResponse:
    """Start, stop, undo, or throw away what was only uploaded."""
    import_ = owned(request, import_id)
    if action == "discard":
        if import_.things.exists() or import_.is_at_work:
            raise Http404("It can't be thrown away now.")
        uploads.discard(import_)
        return redirect("settings:data")
    acts = {"start": uploads.start, "stop": uploads.stop, "undo": uploads.undo}
    if action not in acts:
        raise Http404("No such action.")
    acts[action](import_)
    return redirect("settings:import", import_.pk)


@login_required
@require_POST
def logs(request: UserRequest, import_id: UUID) -> HttpResponse:
    """Begin or stop writing the daily logs of imported chats."""
    import_ = owned(request, import_id)
    if "stop" in request.POST:
        pastlogs.stop(import_)
    elif import_.status == Import.Status.DONE:
        chosen = number(request.POST.get("model", "")) or 0
        model = AiModel.objects.usable().filter(pk=chosen).first()
        pastlogs.start(import_, model)
    return redirect("settings:import", import_.pk)


def _export_context(user: User) -> dict[str, Any]:
    return {"export": Export.objects.filter(owner=user).first()}


@login_required
@require_http_methods(["GET", "POST"])
def export(request: UserRequest) -> HttpResponse:
    """Have an archive made; HTMX asks how far it is."""
    if request.method == "POST":
        exporting.ask(request.user)
    if not request.htmx:
        return redirect("settings:data")
    return render(request, "connect/_export.html", _export_context(request.user))


@login_required
@require_GET
def download(request: UserRequest, export_id: UUID) -> HttpResponseBase:
    found = get_object_or_404(Export, pk=export_id, owner=request.user, status=Export.Status.DONE)
    if not found.path.exists():
        raise Http404("The archive is gone. Make another.")
    response = StreamingHttpResponse(_pieces(found.path), content_type="application/zip")
    response["Content-Length"] = found.path.stat().st_size
    name = f"oneclaw-{found.created_at:%Y-%m-%d}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    """A file piece by piece; under ASGI an ordinary iterator would be read whole first."""
    file = path.open("rb")
    read = sync_to_async(file.read, thread_sensitive=False)
    try:
        while data := await read(PIECE):
            yield data
    finally:
        file.close()


@sensitive_post_parameters("password")
@login_required
@require_http_methods(["GET", "POST"])
def erase(request: UserRequest) -> HttpResponse:
    """Delete everything of the person's, once they have given their password."""
    form = EraseForm(request.POST or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        Erasure.objects.update_or_create(
            owner=request.user,
            defaults={"asked_at": timezone.now(), "finished_at": None, "counts": {}, "error": ""},
        )
        async_task("connect.tasks.erase", request.user.pk)
        messages.success(request, "Everything of yours is being deleted.")
        return redirect("settings:data")
    return render(request, "connect/erase.html", {"form": form})
