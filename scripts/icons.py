"""Draw the app's icons: `python -m scripts.icons` writes static/icons from one claw mark."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ICONS = Path(__file__).resolve().parent.parent / "static" / "icons"
CLAW = (
    '<g fill="#fff">'
    '<path d="M12.2 8.2c2 5.6 -.4 11.2 -5.4 15.5c2.7-5.1 3.3-9.9 2.3-14.7c-.2-1.6 2.6-2.3 3.1-0.8z"/>'
    '<path d="M18.6 7c2 6.7 -.4 13.3 -5.4 18.5c2.7-6.1 3.3-11.8 2.3-17.6c-.2-1.6 2.6-2.3 3.1-0.9z"/>'
    '<path d="M25 8.2c2 5.6 -.4 11.2 -5.4 15.5c2.7-5.1 3.3-9.9 2.3-14.7c-.2-1.6 2.6-2.3 3.1-0.8z"/>'
    "</g>"
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
