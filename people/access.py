"""Who may open what: requests of people who are logged in, and pages for admins alone."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django_htmx.middleware import HtmxDetails

from people.models import User

View = Callable[..., HttpResponseBase]


class UserRequest(HttpRequest):
    """The type of a request in a view behind `login_required`."""

    user: User
    htmx: HtmxDetails


def admin_required(view: View) -> View:
    """Lets only admins in: others see the 403 page, and visitors the log-in."""

    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_staff:
            raise PermissionDenied("This page is for admins.")
        return view(request, *args, **kwargs)

    return guarded
