"""`manage.py mcp`: one person's memory for a program on this machine, on its standard input and output."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from connect.tokens.keys import Caller
from people.models import User


class Command(BaseCommand):
    help = "Serve a person's memory to another program by MCP, on standard input and output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help="Whose memory")
        parser.add_argument("--read-only", action="store_true", help="Offer no tools that change memory")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username__iexact=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active account named {options['user']!r}.")
        # Loads the SDK, which only this command and the address for programs need.
        import anyio
        from mcp.server.stdio import stdio_server

        from connect.mcp.server import MemoryServer

        server = MemoryServer(Caller(user, may_write=not options["read_only"])).build()

        async def serve() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        anyio.run(serve)
