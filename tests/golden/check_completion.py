#!/usr/bin/env python3
"""What the shells complete: every option that the help of a command names, and the commands themselves.

check_completion.py        prints nothing where nothing is missing
"""

import re
import subprocess


def printed(*words: str) -> str:
    return subprocess.run(["flopledger", *words], capture_output=True, text=True, check=True).stdout


def part_of(script: str, shell: str, command: str) -> str:
    """The lines of a script that are about one command."""
    if shell == "fish":
        return "\n".join(re.findall(rf"^.*_from {command}'.*$", script, re.MULTILINE))
    found = re.search(rf"^    {command}\)$.*?^        ;;$", script, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


def main() -> None:
    scripts = {shell: printed("completion", shell) for shell in ("bash", "zsh", "fish")}
    listed = printed("--help").partition("Commands:\n")[2].partition("Options:\n")[0]
    commands = re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)
    for command in commands:
        options = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", printed("help", command), re.MULTILINE)
        for shell, script in scripts.items():
            known = set(re.findall(r"(?:--|-l )([a-z-]+)", part_of(script, shell, command)))
            for option in options:
                if option not in known:
                    print(f"{shell}: {command}: --{option} is not completed")
    print(f"{len(commands)} commands")


if __name__ == "__main__":
    main()
