"""Presets: addresses, windows and abilities of common providers and models, known before asking them."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from chat.models import validate_base_url

# What people paste from documentation, and the path that each protocol has when none is given.
TAILS = ("/chat/completions", "/completions", "/messages", "/models")
ROOTS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}


@dataclass(frozen=True, slots=True)
class Known:
    """A model by its name on the wire; what is not known is None."""

    name: str
    label: str = ""
    context_window: int | None = None
    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A provider that the form can fill in."""

    key: str
    name: str
    kind: str
    base_url: str
    models: tuple[str, ...] = ()
    # Where the person gets a key; empty for servers of their own, which need none.
    keys_at: str = ""
    hint: str = ""

    @property
    def place(self) -> str:
        """Where it runs: in the cloud, on this machine, or wherever the person says."""
        return "cloud" if self.keys_at else "machine" if self.base_url else "other"


TEMPLATES = (
    Template(
        "openai", "OpenAI", "openai", "https://api.openai.com/v1",
        ("gpt-5.6-terra", "gpt-5.6-sol", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4-mini", "gpt-5-mini", "gpt-4.1"),
        "https://platform.openai.com/api-keys",
    ),
    Template(
        "anthropic", "Anthropic", "anthropic", "https://api.anthropic.com",
        ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-4-6", "claude-haiku-4-5"),
        "https://console.anthropic.com/settings/keys",
    ),
    Template(
        "gemini", "Gemini", "gemini", "https://generativelanguage.googleapis.com/v1beta",
        ("gemini-3.8-flash", "gemini-3.5-flash-lite", "gemini-3.1-pro-preview", "gemini-2.5-flash"),
        "https://aistudio.google.com/apikey",
    ),
    Template(
        "openrouter", "OpenRouter", "openai", "https://openrouter.ai/api/v1",
        ("openrouter/auto", "anthropic/claude-sonnet-5.5", "openai/gpt-5.6-terra", "google/gemini-3.8-flash"),
        "https://openrouter.ai/settings/keys", "Hundreds of models behind one key.",
    ),
    Template(
        "mistral", "Mistral", "openai", "https://api.mistral.ai/v1",
        ("mistral-medium-latest", "mistral-large-latest", "mistral-small-latest"),
        "https://console.mistral.ai/api-keys",
    ),
    Template(
        "groq", "Groq", "openai", "https://api.groq.com/openai/v1",
        ("llama-3.3-70b-versatile", "openai/gpt-oss-120b", "openai/gpt-oss-20b"),
        "https://console.groq.com/keys",
    ),
    Template(
        "deepseek", "DeepSeek", "openai", "https://api.deepseek.com/v1",
        ("deepseek-v4-flash", "deepseek-v4-pro", "deepseek-chat"),
        "https://platform.deepseek.com/api_keys",
    ),
    Template("ollama", "Ollama", "openai", "http://127.0.0.1:11434/v1", hint="Models on your own machine."),
    Template("lmstudio", "LM Studio", "openai", "http://127.0.0.1:1234/v1", hint="Start its server first."),
    Template("llamacpp", "llama.cpp", "openai", "http://127.0.0.1:8080/v1", hint="Run llama-server --jinja."),
    Template("vllm", "vLLM", "openai", "http://127.0.0.1:8000/v1", hint="The address vLLM runs at."),
    Template("custom", "", "openai", "", hint="Any server that speaks one of the three protocols."),
)  # fmt: skip
BY_KEY = {template.key: template for template in TEMPLATES}
# The first template of a kind is the maker of the protocol.
MAKER = {kind: next(t for t in TEMPLATES if t.kind == kind) for kind in ("openai", "anthropic", "gemini")}


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose name looks like this."""

    looks: re.Pattern[str]
    window: int | None = None
    tools: bool = True
    thinking: bool = False
    images: bool = False


def family(
    looks: str,
    window: int | None = None,
    *,
    tools: bool = True,
    thinking: bool = False,
    images: bool = False,
) -> Family:
    return Family(re.compile(looks), window, tools, thinking, images)


# The first that fits. Thinking is marked where the provider sends it and it has to be asked for.
FAMILIES = (
    family(r"^gpt-5\.[4-9](?!.*(mini|nano))", 1_050_000, thinking=True, images=True),
    family(r"^gpt-[5-9]", 400_000, thinking=True, images=True),
    family(r"^gpt-4\.1", 1_047_576, images=True),
    family(r"^(gpt-4o|chatgpt-4o|gpt-4-turbo)", 128_000, images=True),
    family(r"^(o1-mini|o1-preview|o3-mini)", 200_000, thinking=True),
    family(r"^o[1-9]", 200_000, thinking=True, images=True),
    family(r"^gpt-3\.5", 16_385),
    family(r"gpt-oss", 131_072, thinking=True),
    family(r"claude-(3-7|3\.7|[a-z]+-[4-9])", 200_000, thinking=True, images=True),
    family(r"claude-(instant|2)", 200_000),
    family(r"claude", 200_000, images=True),
    family(r"gemini-(2\.5|3|[4-9])", 1_048_576, thinking=True, images=True),
    family(r"gemini", 1_048_576, images=True),
    family(r"gemma-?[12]\b", 8_192, tools=False),
    family(r"gemma-?3n?[:-](270m|1b)", 32_768, tools=False),
    family(r"gemma", 131_072, tools=False, images=True),
    family(r"deepseek-(v[4-9]|flash|pro)", 1_000_000, thinking=True),
    family(r"deepseek-(reasoner|r1)", 128_000, thinking=True),
    family(r"deepseek", 128_000),
    family(r"qwen-?3-?vl", 131_072, images=True),
    family(r"(magistral|qwq|qwen-?3|minimax-m|kimi-k2-thinking|glm-4\.[5-9])", 131_072, thinking=True),
    family(r"mistral-(medium|small)|pixtral|mistral-large-(latest|3|251[2-9]|26)", 128_000, images=True),
    family(r"(mistral|ministral|codestral|devstral)", 128_000),
    family(r"llama-?4", 131_072, images=True),
    family(r"llama-?3\.2-?vision|llama-?3\.2-(11|90)b", 131_072, images=True),
    family(r"llama-?3\.[123]", 131_072),
    family(r"llama-?3", 8_192),
    family(r"qwen2?(\.5)?-?(vl|omni)|qvq", 32_768, images=True),
    family(r"qwen", 32_768),
    family(r"llava|moondream|minicpm-v|internvl|smolvlm|phi-?[34].*vision|[-_.:]vl\b|vision", images=True),
)  # fmt: skip
NOT_FOR_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|moderation|(^|[-_/])image|imagen|veo-|audio|realtime|transcri|sora|davinci|babbage"
    r"|rerank|guard|aqa|-live|-omni|banana|codex|deep-research|^(gpt-5[\d.]*|o\d)-pro|lyria|bge-|robotics|computer-use"
    r"|gpt-3\.5-turbo-instruct",
    re.I,
)


def known(name: str) -> Known:
    """What is known of a model from its name alone."""
    short = name.lower().removeprefix("models/").rpartition("/")[2]
    for each in FAMILIES:
        if each.looks.search(short):
            return Known(name, "", each.window, each.tools, each.thinking, each.images)
    return Known(name)


def is_for_chat(name: str) -> bool:
    return not NOT_FOR_CHAT.search(name)


def template_for(kind: str, base_url: str) -> Template | None:
    """The template of this address, whatever the provider is called here."""
    url = base_url.rstrip("/")
    return next((t for t in TEMPLATES if t.base_url and (t.kind, t.base_url) == (kind, url)), None)


def tidy(url: str, kind: str) -> str:
    """The address as the adapters want it: no trailing slash, no method, a path where one is needed."""
    url = url.strip().rstrip("/")
    if "://" not in url and url:
        local = url.startswith(("localhost", "127.", "[::1]"))
        url = f"{'http' if local else 'https'}://{url}"
    for tail in TAILS:
        url = url.removesuffix(tail).rstrip("/")
    validate_base_url(url)
    parts = urlsplit(url)
    path = parts.path or ROOTS.get(kind, "")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, "", ""))


def same_place(one: str, other: str) -> bool:
    """Whether a key that was given for one address may be sent to the other."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc.lower()) == (second.scheme, second.netloc.lower())
