"""The ASGI application that uvicorn serves."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from oneclaw.lifespan import Lifespan
from oneclaw.limits import BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

application = Lifespan(
    BodyLimit(get_asgi_application(), settings.UPLOAD_MB * 2**20), settings.ON_START, settings.ON_STOP
)
