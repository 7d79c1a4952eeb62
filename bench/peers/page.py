"""The results as a part of docs/retrieval.md and a plot beside it."""

import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

MARKS = ("<!-- peers: made by manage.py peers -->", "<!-- /peers -->")
PART = re.compile(f"{re.escape(MARKS[0])}.*?{re.escape(MARKS[1])}", re.DOTALL)
PLOT = "retrieval.svg"
WIDTH, HEIGHT, LEFT, BOTTOM = 700, 320, 60, 70
NAMES = 460  # where the names begin


def table(rows: list[dict[str, Any]], questions: int) -> str:
    """Who is best at what stands in bold, whoever it is."""
    ran = [row for row in rows if "R@5" in row]
    best = {
        "R@5": max(row["R@5"] for row in ran),
        "MRR@5": max(row["MRR@5"] for row in ran),
        "ms": min(row["ms"] for row in ran),
    }
    lines = [
        f"{questions} questions; the same chunks and vectors for all; five results each.",
        "",
        "| store | version | R@5 | MRR@5 | characters of the five | ms a question, without embedding it |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "fault" in row:
            lines.append(f"| {row['store']} | {row['version'] or '–'} | {row['fault']} | | | |")
            continue
        cells = {name: f"**{row[name]}**" if row[name] == best[name] else row[name] for name in best}
        lines.append(
            f"| {row['store']} | {row['version']} | {cells['R@5']} | {cells['MRR@5']} | {row['characters']} "
            f"| {cells['ms']} |"
        )
    wins = [row["store"] for row in ran if row["R@5"] == best["R@5"]]
    quick = [row["store"] for row in ran if row["ms"] == best["ms"]]
    lines += ["", f"Best recall: {', '.join(wins)}. Quickest: {', '.join(quick)}."]
    return "\n".join(lines)


def plot(rows: list[dict[str, Any]]) -> str:
    """Recall against latency, one dot a store."""
    ran = [row for row in rows if "R@5" in row]
    slowest = max(row["ms"] for row in ran) * 1.1 or 1.0
    low = min(row["R@5"] for row in ran) - 0.05
    span = max(row["R@5"] for row in ran) + 0.05 - low

    def place(row: dict[str, Any]) -> tuple[float, float]:
        across = LEFT + row["ms"] / slowest * (NAMES - LEFT - 40)
        up = (row["R@5"] - low) / span * (HEIGHT - BOTTOM - 20)
        return round(across, 1), round(HEIGHT - BOTTOM - up, 1)

    dots, last = list[str](), 0.0
    for x, y, row in sorted(((*place(row), row) for row in ran), key=lambda dot: dot[1::-1]):
        fill = "#b45309" if row["store"] == "OneClaw" else "#64748b"
        # Names stand in a column of their own: stores of like recall would write over each other.
        last = max(y, last + 16)
        dots.append(f'<path d="M{x} {y}L{NAMES - 6} {last}" stroke="{fill}" stroke-width="0.5"/>')
        dots.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{fill}"/>')
        dots.append(
            f'<text x="{NAMES}" y="{last + 4}" fill="{fill}">{escape(row["store"])} ({row["R@5"]})</text>'
        )
    axes = (
        f'<path d="M{LEFT} 10V{HEIGHT - BOTTOM}H{NAMES - 20}" fill="none" stroke="#94a3b8"/>'
        f'<text x="{LEFT}" y="{HEIGHT - 20}" fill="#64748b">0</text>'
        f'<text x="{NAMES - 200}" y="{HEIGHT - 20}" fill="#64748b">ms a question, up to {slowest:.1f}</text>'
        f'<text x="8" y="24" fill="#64748b">R@5</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="Recall against latency">{axes}{"".join(dots)}</svg>\n'
    )


def write(page: Path, rows: list[dict[str, Any]], questions: int) -> None:
    """Put the table between the page's marks, and the plot beside the page."""
    part = f"{MARKS[0]}\n{table(rows, questions)}\n\n![Recall against latency]({PLOT})\n{MARKS[1]}"
    text = page.read_text(encoding="utf-8")
    if not PART.search(text):
        raise ValueError(f"{page} has no place for the table")
    page.write_text(PART.sub(lambda _: part, text), encoding="utf-8")
    page.with_name(PLOT).write_text(plot(rows), encoding="utf-8")
