"""Makes of the wheel that Meson built the one that is published: the tag of its platform, the licences of all its parts, a list
of them (CycloneDX, in .dist-info/sboms as PEP 770 wants), and the same bytes each time."""

import base64
import hashlib
import time
import zipfile
from pathlib import Path

from parts_list import license_texts, parts_list
from targets import Target

EXECUTABLE = ("/scripts/",)


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def rewritten_tag(text: bytes, target: Target) -> bytes:
    lines = [line for line in text.decode().splitlines() if line and not line.startswith("Tag:")]
    return "\n".join([*lines, f"Tag: cp310-abi3-{target.platform}", ""]).encode()


def with_license_files(metadata: bytes, names: list[str]) -> bytes:
    """Each file of .dist-info/licenses has its line (PEP 639), before the text of the README."""
    head, mark, body = metadata.partition(b"\n\n")
    lines = "".join(f"\nLicense-File: {name}" for name in names).encode()
    return head + lines + mark + body


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


def finish(raw: Path, target: Target, folder: Path, modified: int) -> Path:
    with zipfile.ZipFile(raw) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    (info,) = {name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info")}
    project, version = info.removesuffix(".dist-info").split("-")
    texts = license_texts()
    for name, text in texts.items():
        files[f"{info}/licenses/{name}"] = text
    metadata = files[f"{info}/METADATA"]
    missing = [name for name in texts if f"License-File: {name}\n".encode() not in metadata]
    files[f"{info}/METADATA"] = with_license_files(metadata, missing)
    files[f"{info}/WHEEL"] = rewritten_tag(files[f"{info}/WHEEL"], target)
    files[f"{info}/sboms/{project}.cdx.json"] = parts_list(version, target.platform, modified)
    del files[f"{info}/RECORD"]
    lines = [record_line(name, files[name]) for name in sorted(files)]
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    folder.mkdir(exist_ok=True)
    path = folder / f"{project}-{version}-cp310-abi3-{target.platform}.whl"
    write_wheel(path, files, modified)
    return path
