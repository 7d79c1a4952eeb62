"""Pages about people: set-up, log-in, password, profile, accounts, and what their browser reports."""

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from oneclaw import wiring
from people import invitations, throttle
from people import setup as first
from people.access import UserRequest, admin_required
from people.forms import (
    AccountForm,
    JoinForm,
    LoginForm,
    NewPasswordForm,
    PasswordForm,
    ProfileForm,
    SetupForm,
)
from people.models import Invitation, User, validate_time_zone

PASSWORD_BACKEND = "django.contrib.auth.backends.ModelBackend"  # noqa: S105  (a dotted name)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Create the first account, once."""
    if not first.is_needed():
        return redirect("login")
    form = SetupForm(request.POST or None, request=request)
    if request.method == "POST" and form.is_valid():
        try:
            user = first.create_first_admin(form.cleaned_data["username"], form.cleaned_data["password1"])
        except first.AlreadySetUp:
            messages.error(
                request, "Someone has just created the first account: log in, or ask them for one."
            )
            return redirect("login")
        login(request, user, backend=PASSWORD_BACKEND)
        return redirect(after_setup())
    return render(request, "people/setup.html", {"form": form})


def after_setup() -> str:
    """The page after set-up: a chat, or first the choice of a provider."""
    return reverse("home" if wiring.has_provider() else "settings:providers")


class LoginView(auth.LoginView):
    """Django's log-in; before there is any account it leads to set-up."""

    template_name = "people/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if first.is_needed():
            return redirect("setup")
        if request.method == "POST" and throttle.is_guessing(request):
            context = {"failure_limit": throttle.MOST_FROM_AN_ADDRESS}
            return render(request, "people/locked.html", context, status=429)
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        throttle.remember_device(self.request, response, form.get_user())
        return response


class LogoutView(auth.LogoutView):
    """Django's log-out; what was only open for now is closed first."""

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.user.is_authenticated:
            wiring.leave_temporary_chats(request.user.pk)
        return super().post(request, *args, **kwargs)


@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "POST"])
def password(request: UserRequest) -> HttpResponse:
    form = PasswordForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, "Password changed.")
        return redirect("settings:profile")
    return render(request, "people/password.html", {"form": form})


@login_required
@require_http_methods(["GET", "POST"])
def profile(request: UserRequest) -> HttpResponse:
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("settings:profile")
    return render(request, "people/profile.html", {"form": form})


@sensitive_post_parameters()
@admin_required
@require_http_methods(["GET", "POST"])
def accounts(request: UserRequest) -> HttpResponse:
    """All accounts, and a form for another."""
    form = AccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = form.save()
        messages.success(request, f"{user.username} can log in now.")
        return redirect("settings:people")
    return _accounts(request, form=form)


def _accounts(request: UserRequest, **more: object) -> HttpResponse:
    context = {
        "form": AccountForm(),
        "people": User.objects.order_by("username"),
        "invitations": invitations.open_invitations(),
    }
    return render(request, "people/accounts.html", context | more)


@admin_required
@require_POST
def invite(request: UserRequest) -> HttpResponse:
    """Make a link by which somebody creates an account."""
    token = invitations.invite(request.user, is_admin=request.POST.get("is_admin") == "on")
    return _with_link(request, token, "Send this link to the person you invite.")


@admin_required
@require_POST
def withdraw(request: UserRequest, invitation_id: int) -> HttpResponse:
    get_object_or_404(Invitation, pk=invitation_id, used_at=None).delete()
    messages.success(request, "The invitation no longer works.")
    return redirect("settings:people")


@admin_required
@require_POST
def act(request: UserRequest, person_id: int, action: str) -> HttpResponse:
    """What an admin may do to another account: a link for a new password, disable it, enable it."""
    person = get_object_or_404(User, pk=person_id)
    if action == "reset":
        token = invitations.reset_password(person, request.user)
        return _with_link(request, token, f"Send this link to {person}, who chooses a new password there.")
    if action not in ("disable", "enable"):
        raise Http404("No such action.")
    if person == request.user:
        messages.error(request, "You can't disable your own account.")
        return redirect("settings:people")
    User.objects.filter(pk=person.pk).update(is_active=action == "enable")
    done = "can log in again" if action == "enable" else "is disabled and signed out. Nothing is deleted"
    messages.success(request, f"{person} {done}.")
    return redirect("settings:people")


def _with_link(request: UserRequest, token: str, words: str) -> HttpResponse:
    """The page with the link on it, this once: only its hash is kept."""
    address = request.build_absolute_uri(reverse("join", args=[token]))
    return _accounts(request, link={"address": address, "words": words})


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Create an account, or choose a new password, by a link that works once."""
    try:
        invitation = invitations.find(token)
        form = _join_form(invitation, request)
        if request.method == "POST" and form.is_valid():
            person = form.save(commit=False)
            person.is_staff = person.is_superuser = person.is_staff or invitation.is_admin
            user = invitations.accept(invitation, person)
            login(request, user, backend=PASSWORD_BACKEND)
            return redirect("home")
    except invitations.NotValid as reason:
        return render(request, "people/no_invitation.html", {"reason": str(reason)}, status=404)
    return render(request, "people/join.html", {"form": form, "person": invitation.person})


def _join_form(invitation: Invitation, request: HttpRequest) -> JoinForm | NewPasswordForm:
    data = request.POST or None
    return NewPasswordForm(invitation.person, data) if invitation.person else JoinForm(data)


@login_required
@require_POST
def sign_out_others(request: UserRequest) -> HttpResponse:
    """End the log-ins of every other device; this one stays."""
    request.user.sign_out_devices()
    update_session_auth_hash(request, request.user)
    messages.success(request, "Your other devices are signed out.")
    return redirect("settings:profile")


@login_required
@require_POST
def zone(request: UserRequest) -> HttpResponse:
    """Store the browser's time zone, unless the person chose one."""
    name = request.POST.get("zone", "")
    try:
        validate_time_zone(name)
    except ValidationError as error:
        return HttpResponseBadRequest(error.message)
    mine = User.objects.filter(pk=request.user.pk, zone_from_browser=True)
    # Until now their date was that of UTC: no day has passed where it is another one here.
    mine.filter(time_zone="").update(time_zone=name, last_active_date=None)
    mine.exclude(time_zone=name).update(time_zone=name)
    return HttpResponse(status=204)


@login_required
@require_POST
def theme(request: UserRequest) -> HttpResponse:
    """Light, dark or as the system is, chosen in the menu."""
    chosen = request.POST.get("theme", "")
    if chosen not in User.Theme.values:
        return HttpResponseBadRequest("There is no such theme.")
    User.objects.filter(pk=request.user.pk).update(theme=chosen)
    if request.htmx:
        return HttpResponse(status=204)
    back = request.POST.get("next", "")
    allowed = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return redirect(back if allowed and back.startswith("/") else "settings:profile")
