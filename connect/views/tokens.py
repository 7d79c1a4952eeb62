"""Settings → Connections: personal tokens, and what to paste into other programs."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from connect.models import Token
from connect.tokens import configuration, keys
from connect.tokens.forms import TokenForm
from oneclaw import vault
from people.access import UserRequest

# Where a new token waits in the session, sealed, for the page that shows it.
NEW = "new_token"


@sensitive_variables("secret")
@login_required
@require_http_methods(["GET", "POST"])
def connections(request: UserRequest) -> HttpResponse:
    """All tokens, a form for another, and the new one's secret, shown this once."""
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            token, secret = keys.make(request.user, form.cleaned_data["name"], form.cleaned_data["scope"])
        except keys.TooMany as reason:
            form.add_error(None, str(reason))
        else:
            request.session[NEW] = {"id": token.pk, "secret": vault.seal(secret)}
            return redirect("settings:connections")
    new, secret = _just_made(request)
    url = request.build_absolute_uri("/mcp")
    context = {
        "form": form,
        "token": new,
        "secret": secret,
        "tokens": Token.objects.filter(owner=request.user),
        "programs": configuration.programs(
            url, secret, request.user, read_only=new is not None and not new.may_write
        ),
        "on_postgres": bool(settings.DATABASE_URL),
        "mcp_url": url,
        "v1_url": request.build_absolute_uri("/v1"),
    }
    return render(request, "connect/connections.html", context)


@sensitive_variables("secret")
def _just_made(request: UserRequest) -> tuple[Token | None, str]:
    """The token that this browser has made and not yet been shown, with its secret; gone once asked for."""
    waiting = request.session.pop(NEW, None)
    token = Token.objects.filter(owner=request.user, pk=waiting["id"]).first() if waiting else None
    return token, vault.unseal(waiting["secret"]) if token else ""


@login_required
@require_POST
def revoke(request: UserRequest, token_id: int) -> HttpResponse:
    if not keys.revoke(request.user, token_id):
        raise Http404("No such token.")
    messages.success(request, "The token no longer works.")
    return redirect("settings:connections")
