from django.apps import AppConfig


class OneclawConfig(AppConfig):
    name = "oneclaw"
    verbose_name = "OneClaw"
