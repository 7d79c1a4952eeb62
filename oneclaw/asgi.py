"""The ASGI application that uvicorn serves."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from oneclaw import wiring
from oneclaw.server.lifespan import Lifespan
from oneclaw.server.limits import BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

application = Lifespan(
    BodyLimit(get_asgi_application(), settings.UPLOAD_MB * 2**20), wiring.ON_START, wiring.ON_STOP
)
