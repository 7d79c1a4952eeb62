"""The project as an app: its commands, its checks and its admin site."""

from django.apps import AppConfig, apps
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate


class OneclawConfig(AppConfig):
    default = True
    name = "oneclaw"
    verbose_name = "OneClaw"

    def ready(self) -> None:
        from oneclaw import checks, schedules  # noqa: F401  (checks register themselves)

        post_migrate.connect(schedules.after_migrate, sender=apps.get_app_config("django_q"))


class OneclawAdminConfig(admin_apps.AdminConfig):
    default = False
    default_site = "oneclaw.site.adminsite.OneclawAdminSite"
