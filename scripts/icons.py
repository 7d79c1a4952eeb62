"""Draw the app's icons: `python -m scripts.icons` writes static/icons from one claw mark."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ICONS = Path(__file__).resolve().parent.parent / "static" / "icons"
CLAW = (
    '<g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round">'
    '<path d="M10.4 8.2c-2 5.2-1.7 10.7.9 15.6"/>'
    '<path d="M16.7 6.8c-2 5.9-1.6 12.3 1.2 18.4"/>'
    '<path d="M23 8.2c-1.6 5.2-1.3 10.7 1 15.6"/></g>'
)
COLOUR = "#0b6b63"


def drawing(corner: float, scale: float = 1.0) -> str:
    """The mark on its ground; maskable icons fill the square and keep the mark in the safe circle."""
    shift = 16 * (1 - scale)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
        f'<rect width="32" height="32" rx="{corner}" fill="{COLOUR}"/>'
        f'<g transform="translate({shift} {shift}) scale({scale})">{CLAW}</g></svg>'
    )


def main(browser_path: str | None) -> None:
    ICONS.mkdir(parents=True, exist_ok=True)
    (ICONS / "icon.svg").write_text(drawing(corner=9) + "\n")
    wanted = {
        "icon-192.png": (192, drawing(corner=9)),
        "icon-512.png": (512, drawing(corner=9)),
        "maskable-512.png": (512, drawing(corner=0, scale=0.72)),
    }
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, (size, svg) in wanted.items():
            page = browser.new_page(viewport={"width": size, "height": size})
            page.set_content(f"<style>body{{margin:0}}svg{{display:block;width:100vw}}</style>{svg}")
            page.screenshot(path=ICONS / name, omit_background=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
