"""What a wheel or the static program consists of: a list of parts (CycloneDX 1.6), and the text of each licence."""

import hashlib
import json
import re
import time
import uuid
from pathlib import Path

import static_libraries
from targets import MACHINES, ROOT, Target, zig

MUSL = (
    Path(zig()).parent / "lib" / "libc" / "musl"
)  # zig compiles it into programs that load nothing
NODE_MODULES = ROOT / "web" / "node_modules"
NODE_PARTS = ("echarts", "zrender", "tslib")  # what the page's script is made of, beside our own
NODE_LICENSES = ("LICENSE", "LICENSE.txt", "NOTICE", "licenses/LICENSE-d3")


def node_parts() -> list[dict[str, str]]:
    found = []
    for name in NODE_PARTS:
        package = json.loads((NODE_MODULES / name / "package.json").read_text())
        found.append({"name": name, "version": package["version"], "license": package["license"]})
    return found


def license_texts(target: Target, machines: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Names of files below .dist-info/licenses, and what they hold, of the libraries of `machines` (none: the target's own).
    flopledger's own is put there by the build."""
    texts = {}
    if target.is_musl:
        texts["LICENSES/musl-COPYRIGHT"] = (MUSL / "COPYRIGHT").read_bytes()
    for machine in machines or (target.machine,):
        for library in static_libraries.read_list(machine):
            for name in library.license_files:
                text = (static_libraries.unpack(library) / name).read_bytes()
                texts[f"LICENSES/{library.name}-{Path(name).name}"] = text
    for part in NODE_PARTS:
        for name in NODE_LICENSES:
            path = NODE_MODULES / part / name
            if path.exists():
                texts[f"LICENSES/{part}-{Path(name).name}"] = path.read_bytes()
    return texts


def all_licenses(target: Target) -> bytes:
    """For programs that come without a folder: one text for those of all machines, each licence below its file's name."""
    texts = {"LICENSES/flopledger-LICENSE": (ROOT / "LICENSE").read_bytes()}
    texts |= license_texts(target, MACHINES)
    parts = [
        f"{'=' * 80}\n{Path(name).name}\n{'=' * 80}\n".encode() + text
        for name, text in texts.items()
    ]
    return b"\n".join(parts)


def license_entry(expression: str) -> list[dict]:
    if " " in expression:
        return [{"expression": expression}]
    return [{"license": {"id": expression}}]


def library_components(target: Target) -> list[dict]:
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:generic/{library.name}@{library.version}",
            "name": library.name,
            "version": library.version,
            "description": library.use,
            "licenses": license_entry(library.license),
            "purl": f"pkg:generic/{library.name}@{library.version}",
            "hashes": [{"alg": "SHA-256", "content": library.sha256}],
        }
        for library in static_libraries.read_list(target.machine)
    ]


def libc_components(target: Target) -> list[dict]:
    """Of the wheel for glibc, the library of C is the system's."""
    if not target.is_musl:
        return []
    header = (MUSL / "src" / "internal" / "version.h").read_text()
    (version,) = re.findall(r'"([\d.]+)"', header)
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:generic/musl@{version}",
            "name": "musl",
            "version": version,
            "description": "the library of C, as zig brings it along",
            "licenses": license_entry("MIT"),
            "purl": f"pkg:generic/musl@{version}",
        }
    ]


def node_components() -> list[dict]:
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{part['name']}@{part['version']}",
            "name": part["name"],
            "version": part["version"],
            "description": "in the script of the HTML page",
            "licenses": license_entry(part["license"]),
            "purl": f"pkg:npm/{part['name']}@{part['version']}",
        }
        for part in node_parts()
    ]


def parts_list(version: str, target: Target, modified: int) -> bytes:
    own = f"pkg:pypi/flopledger@{version}"
    components = library_components(target) + libc_components(target) + node_components()
    components.sort(key=lambda part: part["name"])
    listed = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(modified)),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "flopledger",
                "version": version,
                "description": f"built for {target.platform}",
                "licenses": license_entry("Apache-2.0"),
                "purl": own,
            },
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in components]}],
    }
    text = json.dumps(listed, indent=2)
    digest = hashlib.sha256(text.encode()).digest()
    listed["serialNumber"] = f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"
    return (json.dumps(listed, indent=2) + "\n").encode()
