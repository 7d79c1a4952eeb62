"""Pages about people: set-up, log-in, password, profile, accounts, and what their browser reports."""

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from oneclaw import wiring
from people import setup as first
from people import throttle
from people.access import UserRequest, admin_required
from people.forms import AccountForm, LoginForm, PasswordForm, ProfileForm, SetupForm
from people.models import User, validate_time_zone

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
    people = User.objects.order_by("username")
    return render(request, "people/accounts.html", {"form": form, "people": people})


@login_required
@require_POST
def zone(request: UserRequest) -> HttpResponse:
    """Store the browser's time zone, unless the person chose one."""
    name = request.POST.get("zone", "")
    try:
        validate_time_zone(name)
    except ValidationError as error:
        return HttpResponseBadRequest(error.message)
    User.objects.filter(pk=request.user.pk, zone_from_browser=True).exclude(time_zone=name).update(
        time_zone=name
    )
    return HttpResponse(status=204)
