"""Makes a trace whose names try to be more than names."""

import json
from pathlib import Path

NAMES = [
    "<script>window.alert(1)</script>",
    "</script><script>window.alert(2)</script>",
    '<img src=x onerror="window.alert(3)">',
    "\"><svg onload='window.alert(4)'>",
    "javascript:window.alert(5)",
    "<!--<script>",
    "]]>&lt;&#60;b&amp;",
    "__proto__",
    "quote\" apostrophe' back\\slash `tick` ${window.alert(6)}",
    "line\u2028separator\u2029 tab\t new\nline \u0007bell \u202eright to left",
    "x" * 10_000 + "<b>",
]


def write_hostile_trace(source: Path, output: Path) -> None:
    """`source` with other names of its kernels and of operators that are not PyTorch's own."""
    trace = json.loads(source.read_text())
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    operators = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
    own = [event for event in operators if not event["name"].startswith("aten::")]
    assert len(kernels) >= len(NAMES) and own, source
    for index, event in enumerate([*kernels, *own]):
        event["name"] = NAMES[index % len(NAMES)]
    text = json.dumps(trace, ensure_ascii=False).replace("__proto__", "__proto__BAD")
    output.write_bytes(text.encode().replace(b"BAD", b"\xff\xfe\x80"))
