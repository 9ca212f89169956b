#!/usr/bin/env python3
"""Draw a page of the terminal as an SVG picture.

    flopledger report --color always --width 96 TRACE | python3 draw_page.py --lines 1-60 >report.svg

Standard input: text with ANSI colours. Only what flopledger writes is understood: bold, dim and the
eight colours.
"""

import argparse
import html
import re
import sys

CELL_WIDTH = 8.43
LINE_HEIGHT = 18
MARGIN = 18
NO_BREAK = "&#160;"  # browsers make one of several spaces, and some whatever xml:space says
COLORS = {
    31: "#d1242f",
    32: "#1a7f37",
    33: "#9a6700",
    34: "#0969da",
    35: "#8250df",
    36: "#1b7c83",
}


class Look:
    """How text looks from here on: it holds beyond the end of a line."""

    def __init__(self):
        self.bold, self.dim, self.color = False, False, None

    def change(self, codes):
        """Follow the numbers of an ANSI colour sequence."""
        for code in (int(number or 0) for number in codes.split(";")):
            if code == 0:
                self.bold, self.dim, self.color = False, False, None
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code in COLORS:
                self.color = COLORS[code]

    def css(self):
        """The same for a text element of SVG."""
        color = self.color or ("#6e7781" if self.dim else "")
        return ("font-weight:bold;" if self.bold else "") + (f"fill:{color};" if color else "")


def spans(line, look):
    """The line as pieces of text of one look: (text, css)."""
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            look.change(piece[2:-1])
        elif piece:
            yield piece, look.css()


def draw(lines):
    """The picture of the lines, as SVG text."""
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = round(max(map(len, plain), default=0) * CELL_WIDTH + 2 * MARGIN)
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="A report of flopledger in a terminal">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff" stroke="#d0d7de"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14"'
        ' fill="#1f2328">',
    ]
    look = Look()
    for number, line in enumerate(lines):
        column = 0
        y = MARGIN + number * LINE_HEIGHT + 13
        for text, css in spans(line, look):
            if text.strip():
                style = f' style="{css}"' if css else ""
                x = round(MARGIN + column * CELL_WIDTH, 1)
                length = round(len(text) * CELL_WIDTH, 1)
                out.append(
                    f'<text x="{x}" y="{y}" textLength="{length}"{style}>{html.escape(text).replace(" ", NO_BREAK)}</text>'
                )
            column += len(text)
    out.append("</g></svg>")
    return "\n".join(out) + "\n"


def main():
    """Read standard input, write the picture of the chosen lines."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--lines", default="1-", help="FIRST-LAST, counted from 1")
    first, _, last = parser.parse_args().lines.partition("-")
    lines = sys.stdin.read().split("\n")
    sys.stdout.write(draw(lines[int(first) - 1 : int(last) if last else len(lines)]))


if __name__ == "__main__":
    main()
