"""Every setting of OneClaw, from ONECLAW_* variables; `env.KNOWN` lists them for the README's table."""

import os
import secrets
import sys
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from oneclaw import env
from oneclaw.keyfile import made_once
from oneclaw.postgres import address
from oneclaw.server import lan

BASE_DIR = Path(__file__).resolve().parent.parent
# The library that runs the embedding model reports to its maker unless this is set before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# Where things are
DATA_DIR = env.path(
    "ONECLAW_DATA_DIR", BASE_DIR / "data", "Folder for the database, the secret key and memory", shown="data/"
)
DATABASE_URL = env.text(
    "ONECLAW_DATABASE_URL", "", "postgres://… to use PostgreSQL with pgvector instead of SQLite"
)
DATABASE_CONNECTIONS = env.integer(
    "ONECLAW_DATABASE_CONNECTIONS", 30, "Most connections to PostgreSQL that one process keeps", least=5
)
ONLY = env.text(
    "ONECLAW_ONLY",
    "",
    "web or worker, to start only one of the two on a machine of several",
    choices=("", "web", "worker"),
)
HOST = env.text("ONECLAW_HOST", "127.0.0.1", "Address to listen on; 0.0.0.0 for the whole network")
PORT = env.integer("ONECLAW_PORT", 8000, "Port to listen on", least=1, most=65535)
HTTPS = env.flag("ONECLAW_HTTPS", False, "1 behind an HTTPS proxy: secure cookies, proxy headers trusted")
HOSTS = env.words(
    "ONECLAW_HOSTS", "", "Host names to answer to, besides loopback and this machine's addresses"
)
PROXIES = env.words(
    "ONECLAW_PROXIES", "127.0.0.1 ::1", "Addresses of the proxy whose forwarded headers are trusted"
)
DEBUG = env.flag("ONECLAW_DEBUG", False, "1 for development: tracebacks in the browser")
LOG_LEVEL = env.text(
    "ONECLAW_LOG_LEVEL",
    "INFO",
    "How much to log: DEBUG, INFO, WARNING or ERROR",
    choices=("DEBUG", "INFO", "WARNING", "ERROR"),
)
LOG_FORMAT = env.text(
    "ONECLAW_LOG_FORMAT", "plain", "json for one JSON object a line", choices=("plain", "json")
)
METRICS = env.flag("ONECLAW_METRICS", False, "1 to serve figures for Prometheus at /metrics")
METRICS_TOKEN = env.text(
    "ONECLAW_METRICS_TOKEN", "", "Token that Prometheus brings to /metrics; 16 characters or more"
)
# Automatic backups
chosen = env.text("ONECLAW_BACKUP_DIR", "", "Folder for automatic backups; empty for none")
BACKUP_DIR = Path(chosen).expanduser().resolve() if chosen else None
BACKUP_HOURS = env.integer("ONECLAW_BACKUP_HOURS", 24, "Hours between automatic backups", least=1)
BACKUP_KEEP = env.integer("ONECLAW_BACKUP_KEEP", 7, "Number of automatic backups to keep", least=1)


# Commands that only look: where there is no key yet, they go without one that would be kept.
LOOKING = ("doctor", "healthz", "settings")


def secret_key() -> str:
    """The key in the data folder, made once and readable by its owner alone."""
    try:
        if sys.argv[1:2] and sys.argv[1] in LOOKING and not (DATA_DIR / "secret.key").exists():
            return secrets.token_urlsafe(50)
        return made_once(DATA_DIR / "secret.key", lambda: secrets.token_urlsafe(50))
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {DATA_DIR} can't be used: {error.strerror}. "
            "Choose another with ONECLAW_DATA_DIR."
        ) from None


SECRET_KEY = secret_key()

INSTALLED_APPS = [
    "oneclaw",
    "people",
    "memory",
    "chat",
    "connect",
    "bench",
    "oneclaw.apps.OneclawAdminConfig",
    "django.contrib.auth",
    "django.forms",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_q",
    "csp",
    "axes",
]

MIDDLEWARE = [
    "oneclaw.serving.pages.NoStore",
    "oneclaw.serving.input.WithoutNul",
    "django.middleware.security.SecurityMiddleware",
    "oneclaw.serving.static.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "people.middleware.ReturnAfterLogin",
    "memory.middleware.SayStorageErrors",
    "axes.middleware.AxesMiddleware",
    "people.middleware.OwnTimeZone",
    "oneclaw.serving.pages.PagesFirst",
]

ROOT_URLCONF = "oneclaw.urls"
ASGI_APPLICATION = "oneclaw.asgi.application"

# Forms are drawn by templates/django/forms, so that every page's fields look alike.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "libraries": {"heroicons": "oneclaw.site.icons"},
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chat.sessions.context.chats",
                "memory.views.frame.trouble",
                "memory.views.frame.in_progress",
            ],
        },
    },
]

SQLITE = {
    "ENGINE": "oneclaw.sqlite",
    "NAME": DATA_DIR / "db.sqlite3",
    # A file in tests too, so that threads and processes meet the same database.
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=134217728; PRAGMA cache_size=-20000; "
            # What is deleted is gone from the file too.
            "PRAGMA secure_delete=ON;"
        ),
    },
}
DATABASES = {"default": address.database(DATABASE_URL, DATABASE_CONNECTIONS) if DATABASE_URL else SQLITE}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# People
AUTH_USER_MODEL = "people.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "people.throttle.username"
AXES_CLIENT_IP_CALLABLE = "people.throttle.address"
AXES_LOCKOUT_TEMPLATE = "people/locked.html"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
# Where somebody was on the way to may be a link that lets them in.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "next"]

# Security
ALLOWED_HOSTS = ["*"] if "*" in HOSTS else [*lan.own_hosts(HOST), *HOSTS]
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "oneclaw.site.errors.csrf_failure"
# The largest body of any request, and of a form without files; an agent's prompt is 50,000 characters.
UPLOAD_MB = env.integer("ONECLAW_UPLOAD_MB", 100, "Largest upload, in megabytes", least=1, most=10_000)
IMAGE_MB = env.integer("ONECLAW_IMAGE_MB", 20, "Largest picture in a message, in MB", least=1, most=100)
FILE_MB = env.integer("ONECLAW_FILE_MB", 20, "Largest other file in a message, in MB", least=1, most=100)
PDF_PAGES = env.integer("ONECLAW_PDF_PAGES", 200, "Pages read of a PDF in a message", least=1, most=2_000)
IMPORT_MB = env.integer(
    "ONECLAW_IMPORT_MB", 2048, "Largest archive to import, in megabytes", least=1, most=1_000_000
)
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 2**20
# What Django writes is the owner's alone, as all in the data folder is.
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o600, 0o700
TOKEN_RATE = env.integer(
    "ONECLAW_TOKEN_RATE", 600, "Requests a minute that one personal token may make", least=1
)
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True
    # Half a year, renewed by each visit; said only in answers that went out by HTTPS.
    SECURE_HSTS_SECONDS = 180 * 24 * 60 * 60
    CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in HOSTS if host != "*"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Language, time, static files
LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
WHITENOISE_ALLOW_ALL_ORIGINS = False
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "oneclaw.serving.static.HashedFiles"
    },
}

# The worker. Conf reads this at import; attempts are bounded and retry comes after timeout.
Q_CLUSTER = {
    "name": "oneclaw",
    "orm": "default",
    "broker_class": "oneclaw.server.heartbeat.Broker",
    "workers": 2,
    "timeout": 900,
    "retry": 1000,
    "max_attempts": 3,
    "ack_failures": True,
    "catch_up": False,
    "save_limit": 250,
    "poll": 0.5,
    "label": "Worker",
}

# Memory: numbers come from RFC-013, RFC-049 and the design; all can be set.
MEMORY_DIR = DATA_DIR / "memory"
EMBEDDING_MODEL = env.path(
    "ONECLAW_EMBEDDING_MODEL",
    BASE_DIR / "models" / "all-MiniLM-L6-v2",
    "Folder with model.onnx and tokenizer.json",
    shown="models/all-MiniLM-L6-v2",
)
DECAY_LAMBDA = env.decimal("ONECLAW_DECAY_LAMBDA", 0.01, "How fast the score of old memories decays, per day")
DECAY_FLOOR = env.decimal("ONECLAW_DECAY_FLOOR", 0.9, "Share of its score that a memory always keeps")
MEMORY_TOKENS = env.integer(
    "ONECLAW_MEMORY_TOKENS", 2000, "Maximum tokens of memory in one request", most=100_000
)
MEMORY_SECONDS = env.integer(
    "ONECLAW_MEMORY_SECONDS", 5, "How long a message waits for memory before it is sent without", least=1
)
RESIDENT_MB = env.integer(
    "ONECLAW_RESIDENT_MB",
    256,
    "Megabytes of search indexes that a process keeps in memory; what is larger is read from the database",
)
MEMORY_REVISIONS = env.integer(
    "ONECLAW_MEMORY_REVISIONS", 500, "Changes to MEMORY.md kept for undo, per user", least=1
)

# A model on this machine
STARTER = env.flag("ONECLAW_STARTER", True, "0 to never run the starter model")
LOCAL_MODEL = env.text(
    "ONECLAW_LOCAL_MODEL",
    "",
    "A .gguf file to run on this machine; or put one in the data folder's models/",
)
LOCAL_CONTEXT = env.integer(
    "ONECLAW_LOCAL_CONTEXT", 4096, "Context window of the local model, in tokens", least=512
)
LOCAL_THREADS = env.integer(
    "ONECLAW_LOCAL_THREADS", 0, "Processor threads for the local model; 0 for one per core", most=512
)

CONTEXT_WINDOW = env.integer(
    "ONECLAW_CONTEXT_WINDOW",
    16_384,
    "Context window to assume, in tokens, when a provider does not report one",
    least=512,
)

# Providers from the environment
PROVIDER = env.text(
    "ONECLAW_PROVIDER",
    "",
    "Protocol of the default provider: openai (or compatible), anthropic or gemini",
    choices=("", "openai", "anthropic", "gemini"),
)
BASE_URL = env.text("ONECLAW_BASE_URL", "", "Address of the default provider, if not the protocol's own")
API_KEY = env.text("ONECLAW_API_KEY", "", "API key of the default provider")
MODEL = env.words("ONECLAW_MODEL", "", "One or more models of the default provider; the first is the default")
WELL_KNOWN_KEYS = {
    "openai": os.environ.get("OPENAI_API_KEY", "").strip(),
    "anthropic": os.environ.get("ANTHROPIC_API_KEY", "").strip(),
    "gemini": os.environ.get("GEMINI_API_KEY", "").strip(),
}
DISCOVER = env.flag(
    "ONECLAW_DISCOVER", True, "0 to not search this machine for Ollama, llama.cpp or LM Studio at start"
)
PRIVATE_PROVIDERS = env.flag(
    "ONECLAW_PRIVATE_PROVIDERS",
    True,
    "0 to refuse providers that admins add at private, link-local or loopback addresses",
)

# Models: how long one may stay silent, and how long a whole reply may take.
MODEL_SILENCE = env.decimal(
    "ONECLAW_MODEL_SILENCE",
    300,
    "Seconds a model may stay silent before the reply fails",
    least=0.1,
    most=3600,
)
MODEL_DEADLINE = env.decimal(
    "ONECLAW_MODEL_DEADLINE", 3600, "Seconds a whole reply may take", least=1, most=86_400
)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "{levelname} {name}: {message}", "style": "{"},
        "json": {"()": "oneclaw.server.logs.JsonLines"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    # The rounds of the cluster and of the server are no news; what goes wrong in them is.
    "loggers": {
        "axes": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django-q": {"level": "DEBUG" if LOG_LEVEL == "DEBUG" else "WARNING"},
        "uvicorn": {"level": "DEBUG" if LOG_LEVEL == "DEBUG" else "WARNING"},
        "httpx": {"level": "WARNING"},
        "mcp": {"level": "WARNING"},
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
}
