"""The web server: uvicorn on sockets that `up` holds, so that a restart never loses the port."""

import os
import socket
import sys

import uvicorn
from django.conf import settings

# Open streams would hold a graceful stop for ever; they resume by themselves when the server is back.
GRACE = 2


def server() -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            "oneclaw.asgi:application",
            ws="none",
            log_config=None,
            access_log=settings.DEBUG,
            server_header=False,
            # Forwarded headers are believed only when the owner says that there is a proxy.
            proxy_headers=settings.HTTPS,
            forwarded_allow_ips=settings.PROXIES,
            timeout_graceful_shutdown=GRACE,
        )
    )


def main(descriptors: list[int]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    server().run(sockets=[socket.socket(fileno=number) for number in descriptors])


if __name__ == "__main__":
    main([int(number) for number in sys.argv[1:]])
