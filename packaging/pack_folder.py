"""Writes the C file of a folder that the program holds, compressed (base/io/packed_folder.h).

    pack_folder.py OUTPUT.c NAME ROOT [FILE...]

FILE: paths below ROOT, which become the names of the files. Without one: a folder that was left out.
"""

import hashlib
import sys
import zlib
from pathlib import Path

BYTES_A_LINE = 24


def read_files(root: Path, paths: tuple[str, ...]) -> dict[str, bytes]:
    files = [Path(path).resolve() for path in paths]
    return {path.relative_to(root.resolve()).as_posix(): path.read_bytes() for path in files}


def main(output: str, name: str, root: str, *paths: str) -> None:
    files = dict(sorted(read_files(Path(root), paths).items()))
    names, contents = list(files), list(files.values())
    whole = b"".join(contents)
    key = hashlib.sha256(
        repr([(file, len(text)) for file, text in zip(names, contents)]).encode() + whole
    )
    packed = zlib.compress(whole, 9) if whole else b"\0"
    with open(output, "w", encoding="ascii") as file:
        file.write("/* Written by packaging/pack_folder.py. */\n")
        file.write('#include "base/io/packed_folder.h"\n\n')
        file.write("static const struct packed_file files[] = {\n")
        at = 0
        for path, text in zip(names, contents):
            file.write(f'    {{"{path}", {at}, {len(text)}}},\n')
            at += len(text)
        file.write("    {0}};\n\nstatic const unsigned char compressed[] = {\n")
        lines = [packed[i : i + BYTES_A_LINE] for i in range(0, len(packed), BYTES_A_LINE)]
        file.writelines(",".join(str(byte) for byte in line) + ",\n" for line in lines)
        file.write("};\n\n")
        file.write(f"const struct packed_folder {name} = {{\n")
        file.write(f"    .files = files,\n    .count = {len(names)},\n    .bytes = {len(whole)},\n")
        file.write("    .compressed = compressed,\n    .compressed_bytes = sizeof compressed,\n")
        file.write(f'    .key = "{key.hexdigest()[:16]}",\n}};\n')


main(*sys.argv[1:])
