"""Databases that try to make SQLite work for them: told, and neither run nor waited for."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from trying import ROOT, Book, Kind, main

MEMORY_MAX = 96 << 20
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"

# name, what is done to a good database, and whether the report must tell of it
HOSTILE: list[tuple[str, list[str], bool]] = [
    (
        "an endless view of texts",
        ["DROP TABLE StringIds", f"CREATE VIEW StringIds AS {ENDLESS} SELECT i AS id, 'x' AS value FROM n"],
        True,
    ),
    (
        "a view that makes large texts",
        ["DROP TABLE StringIds", "CREATE VIEW StringIds AS SELECT 1 AS id, hex(zeroblob(400000000)) AS value"],
        True,
    ),
    (
        "an endless view of kernels",
        [f"ALTER TABLE {KERNELS} RENAME TO k", f"CREATE VIEW {KERNELS} AS {ENDLESS} SELECT k.* FROM k, n"],
        True,
    ),
    (
        "a view that multiplies",
        [f"ALTER TABLE {KERNELS} RENAME TO k", f"CREATE VIEW {KERNELS} AS SELECT a.* FROM k a, k b, k c, k d"],
        True,
    ),
    (
        "a view under the name of a later form",
        [f"CREATE VIEW {KERNELS}_V9 AS {ENDLESS} SELECT i AS start FROM n"],
        False,
    ),
    (
        "a virtual table",
        ["DROP TABLE StringIds", "CREATE VIRTUAL TABLE StringIds USING fts5(id, value)"],
        True,
    ),
    (
        "a column that is computed",
        ["ALTER TABLE StringIds RENAME TO s",
         "CREATE TABLE StringIds (id INTEGER, value AS (hex(zeroblob(300000000))))",
         "INSERT INTO StringIds SELECT id FROM s"],
        False,
    ),
    (
        "triggers",
        [f"CREATE TRIGGER t AFTER INSERT ON {KERNELS} BEGIN DELETE FROM {KERNELS}; END"],
        False,
    ),
    ("text where times are", [f"UPDATE {KERNELS} SET start = 'soon'"], True),
    ("bytes where times are", [f'UPDATE {KERNELS} SET "end" = x\'00ff\''], True),
    ("text where ids are", [f"UPDATE {KERNELS} SET correlationId = 'x'"], True),
    ("a number too large", [f"UPDATE {KERNELS} SET start = 1e300"], False),
    ("a value of 100 MB", ["UPDATE StringIds SET value = zeroblob(100000000) WHERE id = (SELECT min(id) FROM StringIds)"], True),
]  # fmt: skip

DISPATCHES = "rocpd_kernel_dispatch"

# The same of rocprofv3's databases, whose tables have no guid in their names here.
HOSTILE_ROCPD: list[tuple[str, list[str], bool]] = [
    (
        "an endless view of kernels",
        [f"ALTER TABLE {DISPATCHES} RENAME TO k", f"CREATE VIEW {DISPATCHES} AS {ENDLESS} SELECT k.* FROM k, n"],
        True,
    ),
    (
        "an endless view of processes",
        ["ALTER TABLE rocpd_info_process RENAME TO p",
         f"CREATE VIEW rocpd_info_process AS {ENDLESS} SELECT p.* FROM p, n"],
        True,
    ),
    (
        "a view that makes large texts",
        ["DROP TABLE rocpd_string",
         "CREATE VIEW rocpd_string AS SELECT 1 AS id, '' AS guid, hex(zeroblob(400000000)) AS string"],
        True,
    ),
    (
        "triggers",
        [f"CREATE TRIGGER t AFTER INSERT ON {DISPATCHES} BEGIN DELETE FROM {DISPATCHES}; END"],
        False,
    ),
    ("text where times are", [f"UPDATE {DISPATCHES} SET start = 'soon'"], True),
    ("bytes where times are", [f'UPDATE {DISPATCHES} SET "end" = x\'00ff\''], True),
    ("text where ids are", [f"UPDATE {DISPATCHES} SET kernel_id = 'x'"], False),
    ("a number too large", [f"UPDATE {DISPATCHES} SET start = 1e300"], False),
]  # fmt: skip


def make(folder: Path) -> Path:
    path = folder / "good.sqlite"
    script = ROOT / "tests" / "generate" / "nsys_database.py"
    words = [script, "--seed", "7", "--steps", "2", "--output", path]
    subprocess.run([sys.executable, *map(str, words)], check=True, capture_output=True)
    return path


def spoil(good: Path, to: Path, statements: list[str]) -> None:
    shutil.copy(good, to)
    database = sqlite3.connect(to)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def try_one(kind: Kind, good: Path, case: tuple[str, list[str], bool]) -> None:
    name, statements, must_tell = case
    path = good.parent / (name.replace(" ", "_") + good.suffix)
    spoil(good, path, statements)
    before = path.read_bytes()
    for command in ("report", "inspect", "nsys-stats"):
        outcome = kind.try_program([command, path], size=path.stat().st_size, limit_s=20)
        told = outcome.status in (3, 4, 5) if command != "nsys-stats" else True
        what = f"{name}: {command}: exit {outcome.status}: {outcome.errors[-200:]!r}"
        kind.expect(told or not must_tell, what)
        kind.expect(
            outcome.peak_bytes <= MEMORY_MAX or "100 MB" in name,
            f"{what}, {outcome.peak_bytes} bytes",
        )
    kind.expect(path.read_bytes() == before, f"{name}: the file is another one")
    beside = [other.name for other in good.parent.glob(path.name + "-*")]
    kind.expect(not beside, f"{name}: {beside} was left beside it")


def attack(book: Book) -> None:
    good = make(book.folder)
    with book.kind("databases with views, virtual tables, triggers, text for numbers") as kind:
        whole = kind.try_program(["report", good])
        kind.expect(whole.status == 0, f"the good one: exit {whole.status}")
        for case in HOSTILE:  # one by one: the memory of each is measured
            try_one(kind, good, case)
    with book.kind("databases of rocprofv3 with views, triggers, text for numbers") as kind:
        good_rocpd = book.folder / "good.db"
        shutil.copy(
            ROOT / "tests" / "fuzz" / "corpus" / "rocpd_database" / "shared-tables", good_rocpd
        )
        whole = kind.try_program(["report", good_rocpd])
        kind.expect(whole.status == 0, f"the good one: exit {whole.status}")
        for case in HOSTILE_ROCPD:
            try_one(kind, good_rocpd, case)
    with book.kind("a database with a log or a journal beside it, or bytes behind its end") as kind:
        for ending in ("-wal", "-journal"):
            path = book.folder / f"beside{ending}.sqlite"
            shutil.copy(good, path)
            Path(f"{path}{ending}").write_bytes(bytes(4096))
            outcome = kind.try_program(["report", path])
            kind.expect(outcome.status == 3, f"{ending}: exit {outcome.status}")
        path = book.folder / "longer.sqlite"
        path.write_bytes(good.read_bytes() + b"behind")
        outcome = kind.try_program(["report", path])
        kind.expect(outcome.status == 5, f"bytes behind its end: exit {outcome.status}")


if __name__ == "__main__":
    main(__doc__, attack)
