"""Format styles and scripts: `python -m scripts.beautify` writes them, `--check` names those that differ.

The beautifiers' own commands have no check and read no common settings; everything is decided here.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cssbeautifier
import jsbeautifier

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 110


def format_style(text: str) -> str:
    options = cssbeautifier.default_options()
    options.indent_size = 2
    options.max_preserve_newlines = 2
    options.space_around_combinator = True
    options.end_with_newline = True
    formatted: str = cssbeautifier.beautify(text, options)
    return formatted


def format_script(text: str) -> str:
    options = jsbeautifier.default_options()
    options.indent_size = 2
    options.wrap_line_length = WIDTH
    options.max_preserve_newlines = 2
    options.brace_style = "collapse,preserve-inline"
    options.space_after_anon_function = True
    options.end_with_newline = True
    formatted: str = jsbeautifier.beautify(text, options)
    return formatted


FORMATTERS: dict[str, Callable[[str], str]] = {".css": format_style, ".js": format_script}


def sources() -> Iterator[Path]:
    """Our own styles and scripts; others' are left as they came."""
    yield ROOT / "templates" / "service-worker.js"
    for path in sorted((ROOT / "static").rglob("*")):
        if path.suffix in FORMATTERS and "vendor" not in path.parts:
            yield path


def main() -> int:
    arguments = argparse.ArgumentParser(description="Format styles and scripts.")
    arguments.add_argument("--check", action="store_true", help="only name the files that would change")
    check = arguments.parse_args().check
    changed = list[Path]()
    for path in sources():
        text = path.read_text()
        formatted = FORMATTERS[path.suffix](text)
        if formatted != text:
            changed.append(path)
            if not check:
                path.write_text(formatted)
    for path in changed:
        sys.stderr.write(f"{'Would format' if check else 'Formatted'} {path.relative_to(ROOT)}\n")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
