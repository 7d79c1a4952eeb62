"""`manage.py providers`: sync with the environment (`up` does, at every start), find, list, test."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from chat.models import Provider
from chat.providers import discovery, environment, manage


class Command(BaseCommand):
    help = "Sync providers with the environment, list them, or test their connections."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["sync", "find", "list", "test"])
        parser.add_argument("name", nargs="?", help="name of the provider to test (default: all)")

    def handle(self, *args: Any, action: str, name: str | None = None, **options: Any) -> None:
        getattr(self, action)(name)

    def sync(self, name: str | None) -> None:
        """At start: what the environment names, and a server on this machine where there is nothing else."""
        try:
            environment.sync()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        others = Provider.objects.exclude(origin=Provider.Origin.STARTER)
        if settings.DISCOVER and not others.exists():
            self.find(name)

    def find(self, name: str | None) -> None:
        for provider in discovery.adopt():
            self.stdout.write(f"Found {provider.name} with {provider.models.count()} models.")

    def list(self, name: str | None) -> None:
        for provider in Provider.objects.prefetch_related("models"):
            state = "" if provider.enabled else " (off)"
            self.stdout.write(f"{provider.name}{state}: {provider.get_kind_display()}, {provider.base_url}")
            for model in provider.models.all():
                self.stdout.write(f"  {'*' if model.is_default else '-'} {model.name}")

    def test(self, name: str | None) -> None:
        chosen = Provider.objects.filter(name=name) if name else Provider.objects.all()
        if name and not chosen.exists():
            raise CommandError(f"There is no provider named {name!r}.")
        for provider in chosen:
            outcome = manage.try_connection(provider)
            self.stdout.write(f"{provider.name}: {outcome.kind}. {outcome.message}")
