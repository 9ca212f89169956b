"""Writes the C file that holds the page of the HTML report, compressed.

    embed_page.py OUTPUT.c [PAGE.html]

Without a page: the file of a program that was built without one.
"""

import sys
import zlib
from pathlib import Path

MARK = b"<!-- data -->"
BYTES_A_LINE = 24


def main(output: str, *pages: str) -> None:
    page = Path(pages[0]).read_bytes() if pages else MARK
    before, mark, after = page.partition(MARK)
    if not mark or MARK in after:
        sys.exit(f"embed_page.py: {pages[0]} must hold {MARK.decode()} once")
    whole = before + after
    packed = zlib.compress(whole, 9) if whole else b"\0"
    lines = [packed[i : i + BYTES_A_LINE] for i in range(0, len(packed), BYTES_A_LINE)]
    with open(output, "w", encoding="ascii") as file:
        file.write("/* Written by web/embed_page.py: the page of the HTML report. */\n")
        file.write('#include "output/reports/html_page.h"\n\n')
        file.write(f"const size_t html_page_bytes = {len(whole)};\n")
        file.write(f"const size_t html_page_data_offset = {len(before)};\n")
        file.write(f"const size_t html_page_compressed_bytes = {len(packed) if whole else 0};\n")
        file.write("const unsigned char html_page_compressed[] = {\n")
        file.writelines(",".join(str(byte) for byte in line) + ",\n" for line in lines)
        file.write("};\n")


main(*sys.argv[1:])
