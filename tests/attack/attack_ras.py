"""`ranks --live` beside what answers in the place of NCCL's RAS: cut, damaged, huge, slow, endless; it may refuse it, and never crash, hang or eat the memory."""

from __future__ import annotations

import socket
import threading
import time

from mutating import mutant
from trying import ROOT, Book, Kind, main

CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "ras_status"
ANSWER_MAX = 64 << 20  # that is listened to
MEMORY_MAX = 2 << 30  # of two looks at an answer of that size
SLOW_S = 40.0  # an answer may take 20 s


class Ras(threading.Thread):
    """Agrees to everything, and then answers what it was given."""

    def __init__(self, answer: bytes, is_json: bool, byte_every_s: float = 0.0) -> None:
        super().__init__(daemon=True)
        self.answer, self.is_json, self.byte_every_s = answer, is_json, byte_every_s
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.start()

    def run(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                try:
                    self.talk(client)
                except OSError:
                    pass  # it has gone: it has seen enough

    def talk(self, client: socket.socket) -> None:
        with client.makefile("rb") as lines:
            for line in lines:
                if b"STATUS" in line:
                    break
                says = b"SERVER PROTOCOL 2\n" if b"PROTOCOL" in line else b"OK\n"
                client.sendall(b"ERROR\n" if b"json" in line and not self.is_json else says)
            if not self.byte_every_s:
                client.sendall(self.answer)
                return
            for byte in self.answer:
                client.sendall(bytes([byte]))
                time.sleep(self.byte_every_s)


def look(kind: Kind, ras: Ras, limit_s: float = 30) -> None:
    words = ["ranks", "--live", "--apart", "0.01", "--no-stacks", "--ras", ras.address]
    outcome = kind.try_program(words, len(ras.answer), limit_s, cwd=kind.book.folder)
    ras.socket.close()
    kind.expect(outcome.status in (0, 4), f"exit {outcome.status}: {outcome.errors[-200:]!r}")
    kind.expect(b"\x1b" not in outcome.output + outcome.errors, "a text moves the cursor")
    kind.expect(outcome.peak_bytes < MEMORY_MAX, f"{outcome.peak_bytes >> 20} MiB")


def huge_answers(size: int) -> dict[str, bytes]:
    """About so many bytes of what costs a reader most."""

    def repeated(one: bytes) -> bytes:
        return b",".join([one] * (size // len(one)))

    names = b",".join(b'{"hash":"%x"}' % i for i in range(size // 18, 0, -1))
    counts = b",".join(b'"op%d":1' % i for i in range(size // 12))
    return {
        "ranks that are lost": b'{"communicators":[{"missing_ranks":[%s]}]}'
        % repeated(b'{"status":{"considered_dead":true}}'),
        "communicators": b'{"communicators":[%s]}' % names,
        "operations": b'{"communicators":[{"ranks":[{"collective_counts":{%s}}]}]}' % counts,
        "values": b"[%s]" % repeated(b"0"),
        "depth": b'{"communicators":' + b"[" * size,
        "one text": b'{"nccl_version":"%s"}' % (b"x" * size),
        "headings": b"NCCL version 2.24.3\n"
        + b"#0-0 (01) MISMATCH\n  Rank 1 -- GPU 1\n" * (size // 38),
        "ranks of a text": b"NCCL version 2.24.3\n#0-0 (01) MISMATCH\n"
        + b"".join(b"  Rank %d -- GPU 1\n" % i for i in range(size // 24)),
        "no end of a line": b"NCCL version 2.24.3\n#0-0 (" + b"0" * size,
    }


def attack(book: Book) -> None:
    samples = sorted(CORPUS.iterdir())
    with book.kind("RAS: mutants of its answers") as kind:
        cases = [(path, number) for path in samples for number in range(book.count(10, 500))]

        def try_mutant(case: tuple) -> None:
            path, number = case
            damaged = mutant(path.read_bytes(), number)
            look(kind, Ras(damaged, path.suffix == ".json"))

        kind.for_each(cases, try_mutant)
    with book.kind("RAS: huge answers") as kind:
        for answer in huge_answers(book.count(1 << 20, ANSWER_MAX)).values():
            look(kind, Ras(answer, answer.startswith((b"{", b"["))))
    with book.kind("RAS: an answer without an end") as kind:
        look(kind, Ras(b" " * (ANSWER_MAX + (1 << 22)), True))
    if book.is_long:
        with book.kind("RAS: an answer byte by byte") as kind:
            look(kind, Ras(b" " * 10_000, True, 1.0), SLOW_S)


if __name__ == "__main__":
    main(__doc__, attack)
