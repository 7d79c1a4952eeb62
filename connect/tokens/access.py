"""Letting programs in by the token that their request carries; cookies count for nothing here."""

from django.conf import settings
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from connect.tokens import keys, throttle
from connect.tokens.keys import Caller
from people.throttle import address


class Refused(Exception):
    """The request is not let in; `status` is HTTP's, `wait` the seconds after which it may try again."""

    def __init__(self, status: int, message: str, wait: int = 0, allow: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.wait = wait
        self.allow = allow

    @property
    def headers(self) -> dict[str, str]:
        found = {"WWW-Authenticate": 'Bearer realm="OneClaw"'} if self.status == 401 else {}
        found |= {"Allow": self.allow} if self.allow else {}
        return found | ({"Retry-After": str(self.wait)} if self.wait else {})


@sensitive_variables("secret")
def caller_of(request: HttpRequest) -> Caller:
    """Whom the request acts for. Raises Refused."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    found = keys.find(secret.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        where = address(request) or ""
        if throttle.failures.count(where) > throttle.MOST_FAILURES:
            wait = throttle.failures.left(where)
            raise Refused(429, "Too many requests with a wrong token came from this address.", wait)
        raise Refused(401, "This needs a token: make one in OneClaw under Settings → Connections.")
    key = str(found.token_id)
    if throttle.requests.count(key) > settings.TOKEN_RATE:
        raise Refused(
            429, "This token is used too often. Try again in a moment.", throttle.requests.left(key)
        )
    return found


def refuse_other_sites(request: HttpRequest) -> None:
    """No page of another site may speak to a server in its visitor's own network (DNS rebinding)."""
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{request.scheme}://{request.get_host()}":
        raise Refused(403, "Pages of other sites can't use this.")
