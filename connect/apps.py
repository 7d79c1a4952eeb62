from django.apps import AppConfig


class ConnectConfig(AppConfig):
    name = "connect"
    verbose_name = "Connections"
