# OneClaw in a container: no root inside, everything to keep in /data (backups go to /backups), no network needed once it is built.
# `python -m scripts.bare_debian` takes the same steps in a bare Debian without a container engine.
FROM debian:bookworm-slim

# 0 leaves the starter model (200 MB) out.
ARG STARTER=1
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# libgomp1 is for the starter model.
RUN apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends python3 python3-venv make ca-certificates libgomp1 && \
    rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin oneclaw && \
    install -d -o oneclaw -g oneclaw -m 700 /data /backups

WORKDIR /opt/oneclaw
# The libraries first: they are fetched again only when their versions change.
COPY Makefile requirements.lock requirements-starter.lock ./
COPY scripts ./scripts
RUN make install STARTER=$STARTER && rm -f .venv/install.log
COPY . .
RUN .venv/bin/python -m compileall -q bench chat connect memory oneclaw people

USER oneclaw
ENV ONECLAW_DATA_DIR=/data ONECLAW_HOST=0.0.0.0 ONECLAW_PORT=8000
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD [".venv/bin/python", "deploy/healthcheck.py"]
STOPSIGNAL SIGTERM
CMD [".venv/bin/python", "manage.py", "up"]
