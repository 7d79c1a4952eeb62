"""The ASGI application that uvicorn serves."""

import os
import sys

import django
from django.conf import settings

from oneclaw import wiring
from oneclaw.serving.lifespan import Lifespan, keep_connections, load_pages
from oneclaw.serving.limits import BodyLimit
from oneclaw.serving.pages import PageHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

# A page lets go of the interpreter at every query. By default it would get it back from a thread that
# computes (Markdown, an index, a search) only after 5 ms, a hundred times a page.
sys.setswitchinterval(0.0005)

django.setup(set_prefix=False)
pages = PageHandler()
application = Lifespan(
    BodyLimit(wiring.with_programs(pages), settings.UPLOAD_MB * 2**20, wiring.told_too_large),
    (*wiring.ON_START, load_pages, keep_connections),
    wiring.ON_STOP,
)
