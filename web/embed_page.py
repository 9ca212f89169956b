"""Writes the C file that holds the page of the HTML report.

    embed_page.py OUTPUT.c [PAGE.html]

Without a page: the file of a program that was built without one.
"""

import sys
from pathlib import Path

MARK = b"<!-- data -->"
BYTES_A_LINE = 96
AS_THEY_ARE = frozenset(range(32, 127)) - frozenset(b'"\\?')  # "?": of trigraphs


def literal(line: bytes) -> str:
    """A string of C; three octal digits, so that no digit behind them counts."""
    return (
        '"' + "".join(chr(byte) if byte in AS_THEY_ARE else f"\\{byte:03o}" for byte in line) + '"'
    )


def main(output: str, *pages: str) -> None:
    page = Path(pages[0]).read_bytes() if pages else MARK
    before, mark, after = page.partition(MARK)
    if not mark or MARK in after:
        sys.exit(f"embed_page.py: {pages[0]} must hold {MARK.decode()} once")
    whole = before + after
    lines = [whole[at : at + BYTES_A_LINE] for at in range(0, len(whole), BYTES_A_LINE)]
    with open(output, "w", encoding="ascii") as file:
        file.write("/* Written by web/embed_page.py: the page of the HTML report. */\n")
        file.write('#include "output/reports/html_page.h"\n\n')
        file.write('#pragma GCC diagnostic ignored "-Woverlength-strings"\n\n')
        file.write(f"const size_t html_page_bytes = {len(whole)};\n")
        file.write(f"const size_t html_page_data_offset = {len(before)};\n")
        file.write("const char html_page[] =\n")
        file.writelines(literal(line) + "\n" for line in lines or [b""])
        file.write(";\n")


main(*sys.argv[1:])
