"""`serve` beside clients that hold its connections and are slow: it answers all others at once, and ends the slow."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time

from trying import Book, Kind, main

CONNECTIONS = 512
BYTE_EVERY_S = 5.0
ASK_EVERY_S = 0.25
ANSWER_S = 2.0  # within which others are answered
REQUEST_S = 10.0  # that a request may take, as SECURITY.md says
LATE_S = 2.0  # the server looks for late ones once a second
OF_CLIENT = 64  # connections that a client may hold, as SECURITY.md says
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
SLOW = {
    "head": GET + b"X: ",
    "body": b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
    "line": b"G",
    "unread": (GET + b"\r\n") * 100,  # asks, and takes no answers
}


class Slow:
    """A client that never comes to the end of its request."""

    def __init__(self, port: int, sort: str) -> None:
        self.sort, self.began, self.ended = sort, time.monotonic(), 0.0
        self.socket = socket.socket()
        if sort == "unread":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", port))
        self.next, self.begin = 0.0, SLOW[sort]

    def go_on(self) -> None:
        now = time.monotonic()
        try:
            if now >= self.next:
                self.socket.send(self.begin or b"x")
                self.begin, self.next = b"", now + BYTE_EVERY_S
            if self.sort != "unread" and not self.socket.recv(4096):
                self.ended = now
        except BlockingIOError:
            pass
        except OSError:
            self.ended = now
        if self.ended:
            self.socket.close()


class Server:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.process = subprocess.Popen(
            [kind.book.program, "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=kind.book.folder,
        )
        assert self.process.stdout
        found = re.search(rb"127\.0\.0\.1:(\d+)/", self.process.stdout.readline())
        self.port = int(found[1]) if found else 0
        self.late = 0

    def ask(self, path: str) -> None:
        began, answer = time.monotonic(), b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as asking:
                asking.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
                )
                while piece := asking.recv(1 << 16):
                    answer += piece
        except OSError as error:
            answer = answer or str(error).encode()
        took = time.monotonic() - began
        self.kind.row.tries += 1
        self.kind.row.seconds = max(self.kind.row.seconds, took)
        is_right = answer.startswith(b"HTTP/1.1 200") and took <= ANSWER_S
        self.late += not is_right
        self.kind.expect(is_right, f"{path}: {took:.2f} s: {answer[:80]!r}")

    def hold(self, slow: list[Slow], seconds: float, is_again: bool) -> None:
        """Slow clients, and a quick one beside them; `is_again`: whoever is ended comes again."""
        began = asked = time.monotonic()
        while time.monotonic() < began + seconds and self.late < 3:
            for i, one in enumerate(slow):
                if not one.ended:
                    one.go_on()
                elif is_again:
                    slow[i] = Slow(self.port, one.sort)
            if time.monotonic() >= asked + ASK_EVERY_S:
                for path in ("/healthz", "/metrics"):
                    self.ask(path)
                asked = time.monotonic()
            time.sleep(0.02)

    def end(self, slow: list[Slow]) -> None:
        for one in slow:
            one.socket.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            _, errors = self.process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = self.process.communicate()
            self.kind.row.hangs += 1
        self.kind.expect(
            self.process.returncode == 0, f"exit {self.process.returncode}: {errors[-500:]!r}"
        )


def try_many(kind: Kind, is_again: bool, seconds: float) -> None:
    server = Server(kind)
    sorts = list(SLOW)
    slow = [Slow(server.port, sorts[i % len(sorts)]) for i in range(CONNECTIONS)]
    server.hold(slow, seconds, is_again)
    held = sum(not one.ended for one in slow if one.sort != "unread")
    kind.expect(is_again or held <= OF_CLIENT, f"{held} connections of one client are held")
    server.end(slow)


def try_few(kind: Kind) -> None:
    """Fewer than a client may hold: it is time alone that ends them."""
    server = Server(kind)
    slow = [Slow(server.port, sort) for sort in ("head", "body", "line") for _ in range(10)]
    server.hold(slow, REQUEST_S - 3, False)
    early = sum(bool(one.ended) for one in slow)
    kind.expect(early == 0, f"{early} of {len(slow)} were ended before their time was over")
    server.hold(slow, 3 + LATE_S, False)
    late = sum(not one.ended for one in slow)
    kind.expect(late == 0, f"{late} of {len(slow)} requests last longer than {REQUEST_S:.0f} s")
    server.end(slow)


def is_built_in(book: Book) -> bool:
    tried = subprocess.run(
        [book.program, "serve", "--port", "0", "--address", "x"], capture_output=True
    )
    return b"libmicrohttpd" not in tried.stderr


def attack(book: Book) -> None:
    if not is_built_in(book):
        book.skip("serve", "built without libmicrohttpd")
        return
    with book.kind("serve: 512 slow connections") as kind:
        try_many(kind, False, book.count(3, 60))
    with book.kind("serve: 512 slow connections, each opened again when ended") as kind:
        try_many(kind, True, book.count(3, 60))
    with book.kind("serve: requests without an end") as kind:
        try_few(kind)


if __name__ == "__main__":
    main(__doc__, attack)
