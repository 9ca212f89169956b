"""Makes of the wheel that Meson built the one that is published: the tag of its platform, the licences of all its parts, a list
of them (CycloneDX, in .dist-info/sboms as PEP 770 wants), and the same bytes each time."""

import base64
import hashlib
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

from parts_list import license_texts, parts_list
from targets import Target

EXECUTABLE = ("/scripts/",)


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def rewritten_tag(text: bytes, tag: str) -> bytes:
    lines = [line for line in text.decode().splitlines() if line and not line.startswith("Tag:")]
    return "\n".join([*lines, f"Tag: {tag}", ""]).encode()


def with_license_files(metadata: bytes, names: list[str]) -> bytes:
    """Each file of .dist-info/licenses has its line (PEP 639), before the text of the README."""
    head, mark, body = metadata.partition(b"\n\n")
    lines = "".join(f"\nLicense-File: {name}" for name in names).encode()
    return head + lines + mark + body


def with_name_of_musl(extension: bytes, target: Target) -> bytes:
    """zig's library of C is libc.so; on a system of musl it is called as below, and PEP 656 wants that."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(extension)
        file.flush()
        renamed = ["libc.so", f"libc.musl-{target.machine}.so.1"]
        subprocess.run(["patchelf", "--replace-needed", *renamed, file.name], check=True)
        return Path(file.name).read_bytes()


def write_wheel(path: Path, files: dict[str, bytes], modified: int) -> None:
    """Files in the order of their names, all with the same time; those of .dist-info last, as is the custom."""
    when = time.gmtime(max(modified, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix
            is_program = any(part in name for part in EXECUTABLE) or name.endswith(".so")
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            wheel.writestr(entry, files[name], compresslevel=9)


def write_tagged(path: Path, tag: str, files: dict[str, bytes], modified: int) -> Path:
    (info,) = {name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info")}
    files = {**files, f"{info}/WHEEL": rewritten_tag(files[f"{info}/WHEEL"], tag)}
    lines = [record_line(name, files[name]) for name in sorted(files)]
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    path.parent.mkdir(exist_ok=True)
    write_wheel(path, files, modified)
    return path


def finish(raw: Path, target: Target, folder: Path, modified: int) -> list[Path]:
    """Two wheels: pip takes the second where the stable ABI is not: in Pythons without the interpreter's lock, and in others than
    CPython. It has the program and the package, without the extensions: all but what records."""
    with zipfile.ZipFile(raw) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    if target.is_musl:
        extensions = [name for name in files if name.endswith(".so")]
        files |= {name: with_name_of_musl(files[name], target) for name in extensions}
    (info,) = {name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info")}
    project, version = info.removesuffix(".dist-info").split("-")
    texts = license_texts(target)
    for name, text in texts.items():
        files[f"{info}/licenses/{name}"] = text
    metadata = files[f"{info}/METADATA"]
    missing = [name for name in texts if f"License-File: {name}\n".encode() not in metadata]
    files[f"{info}/METADATA"] = with_license_files(metadata, missing)
    files[f"{info}/sboms/{project}.cdx.json"] = parts_list(version, target, modified)
    del files[f"{info}/RECORD"]
    without = {name: content for name, content in files.items() if not name.endswith(".so")}
    made = []
    for abi, content in (("cp310-abi3", files), ("py3-none", without)):
        tag = f"{abi}-{target.platform}"
        path = folder / f"{project}-{version}-{tag}.whl"
        made.append(write_tagged(path, tag, content, modified))
    return made
