#!/usr/bin/env python3
"""Each section that the program makes has a name for --section: check_sections.py"""

import re
import sys

from source_files import ROOT

KEY = re.compile(r'section_new\(\s*[^,]+,\s*"(\w+)"')
NAME = re.compile(r'^SECTION_NAME\((\w+), "([\w-]+)", "(\w*)"\)', re.MULTILINE)


def main() -> int:
    names = NAME.findall((ROOT / "src/output/reports/section_name_list.def").read_text())
    made = {key for path in (ROOT / "src").rglob("*.c") for key in KEY.findall(path.read_text())}
    problems = [f"'{key}' has no name" for key in sorted(made - {key for key, _, _ in names})]
    problems += [
        f"'{name}' is the name of a section and of a group"
        for _, name, _ in names
        if name in {group for _, _, group in names}
    ]
    if not made:
        problems.append("no section is made: this check looks for the wrong call")
    for problem in problems:
        print(problem)
    print(
        f"{len(made)} sections, {len(problems)} problems"
        if problems
        else "every section has a name"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
