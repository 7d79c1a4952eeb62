"""The project as an app: its commands, its checks and its admin site."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin


class OneclawConfig(AppConfig):
    default = True
    name = "oneclaw"
    verbose_name = "OneClaw"

    def ready(self) -> None:
        from oneclaw import checks  # noqa: F401  (registers them)


class OneclawAdminConfig(admin.AdminConfig):
    default = False
    default_site = "oneclaw.adminsite.OneclawAdminSite"
