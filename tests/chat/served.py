"""The app for a process of its own that tests may kill, on the database of the tests."""

import os

from oneclaw import settings

settings.DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE"]
settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"

from oneclaw.asgi import application  # noqa: E402

__all__ = ["application"]
