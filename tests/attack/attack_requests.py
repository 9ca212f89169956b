"""`serve` and requests that no honest client sends: an HTTP answer or an end of the connection, nothing of other files, and all others are answered."""

from __future__ import annotations

import random
import re
import socket
import time
from pathlib import Path

from attack_serve import Server, is_built_in
from mutating import mutant
from trying import Book, Kind, main

END_S = 3.0  # a request that is whole, or wrong, is answered within it
GROWTH_MAX = 32 << 20
STATUS = re.compile(rb"HTTP/1\.[01] (100|200|4\d\d|501|505) ")
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
SECRET = b"the secret of a file beside it"

METHODS = [
    b"PUT",
    b"POST",
    b"DELETE",
    b"TRACE",
    b"OPTIONS",
    b"CONNECT",
    b"PATCH",
    b"get",
    b"",
    b"\x00",
    b"G" * 9000,
    b"PRI",
]
PATHS = [
    b"/../secret", b"/../../../../../../etc/passwd", b"/%2e%2e/%2e%2e/etc/passwd", b"/..%2f..%2fetc/passwd", b"//etc/passwd",
    b"/metrics/../secret", b"/secret", b"/./secret", b"/metrics%00", b"/metrics\x00x", b"/%", b"/%zz", b"/" + b"a" * 100_000,
    b"http://127.0.0.1/secret", b"*", b"", b"/\\..\\secret", b"/metrics?" + b"a=b&" * 20_000, b"/\xff\xfe", b"/<script>", b"file:///etc/passwd",
]  # fmt: skip
HEADERS = [
    b"X: " + b"y" * 1_000_000, b"".join(b"X%d: y\r\n" % i for i in range(10_000)), b"no colon", b": no name", b" folded: x",
    b"X: a\r\n\tb", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: 5\r\nContent-Length: 6",
    b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n", b"Expect: 100-continue\r\nContent-Length: 3", b"Expect: nothing",
    b"Host: a\r\nHost: b", b"Accept: " + b"application/openmetrics-text," * 2_000, b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings",
    b"Range: bytes=0-18446744073709551615", b"Cookie: \x1b[2J", b"Authorization: Digest " + b"x=" * 2000, b"X: \x00\x01\x02", b"\xff: x",
]  # fmt: skip
OTHERS = [
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512), b"GET /\r\n\r\n", b"GET /metrics\n\n",
    b"GET /metrics HTTP/9.9\r\nHost: x\r\n\r\n", b"GET /metrics HTTP/1.0\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n", b"\r\n" * 5_000,
    b"\x00" * 10_000, b"GET  /metrics  HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /metrics HTTP/1.1\nHost: x\n\n", b"SSH-2.0-x\r\n", b"{" * 5_000,
]  # fmt: skip


def requests() -> list[bytes]:
    found = [method + b" /metrics HTTP/1.1\r\nHost: x\r\n\r\n" for method in METHODS]
    found += [b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n" for path in PATHS]
    found += [GET + header + b"\r\n\r\n" for header in HEADERS]
    return found + OTHERS


def memory_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) << 10 if found else 0


class Asking:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.server = Server(kind)

    def send(self, request: bytes, is_half_closed: bool, silent_s: float) -> bytes:
        """All that comes back until the server ends the connection, is silent, or END_S are over."""
        answer, began = b"", time.monotonic()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=END_S) as one:
            try:
                one.sendall(request)
                if is_half_closed:
                    one.shutdown(socket.SHUT_WR)
                one.settimeout(silent_s)
                while time.monotonic() < began + END_S and (piece := one.recv(1 << 16)):
                    answer += piece
            except OSError:
                pass  # ended by the server, or silent: it may wait for the rest
        self.kind.row.tries += 1
        return answer

    def attack(self, request: bytes, is_half_closed: bool = False) -> None:
        answer = self.send(request, is_half_closed, 0.1)
        what = f"{request[:60]!r}: {answer[:80]!r}"
        self.kind.expect(not answer or STATUS.match(answer) is not None, what)
        self.kind.expect(b"root:" not in answer and SECRET not in answer, f"{what}: another file")
        self.server.ask("/healthz")

    def pipelined(self, count: int) -> None:
        answer = self.send(HEALTH * (count - 1) + LAST, False, END_S)
        got = answer.count(b"HTTP/1.1 200 OK")
        self.kind.expect(got == count, f"{count} requests at once: {got} answers")

    def half_closed(self) -> None:
        """Who asks and then closes its side is answered."""
        answer = self.send(LAST, True, END_S)
        self.kind.expect(answer.endswith(b"ok\n"), f"half closed: {answer[-80:]!r}")

    def end(self, memory: int) -> None:
        grown = memory_of(self.server.process.pid) - memory
        self.kind.expect(grown < GROWTH_MAX, f"grew by {grown >> 20} MiB")
        self.kind.row.memory_bytes = memory + max(0, grown)
        self.server.end([])


def attack(book: Book) -> None:
    if not is_built_in(book):
        book.skip("requests", "built without libmicrohttpd")
        return
    (book.folder / "secret").write_bytes(SECRET)
    with book.kind("serve: wrong methods, paths, headers, protocols") as kind:
        asking = Asking(kind)
        asking.server.ask("/metrics")
        memory = memory_of(asking.server.process.pid)
        for request in requests():
            asking.attack(request)
            asking.attack(request, is_half_closed=True)
        asking.end(memory)
    with book.kind("serve: requests in a row, half closed, mutants") as kind:
        asking = Asking(kind)
        asking.server.ask("/metrics")
        memory = memory_of(asking.server.process.pid)
        for count in (2, 10, 1000):
            asking.pipelined(count)
        asking.half_closed()
        chance = random.Random(3)
        for seed in range(book.count(60, 2000)):
            good = chance.choice([GET + b"Accept: text/plain\r\n\r\n", HEALTH, LAST])
            asking.attack(mutant(good, seed), is_half_closed=True)
        asking.end(memory)


if __name__ == "__main__":
    main(__doc__, attack)
