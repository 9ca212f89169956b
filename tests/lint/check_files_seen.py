#!/usr/bin/env python3
"""Whoever opens, lists or looks for a file whose content can change an answer tells base/io/files_seen.h of it.

An answer that --cache has kept is given again where all that was noted is the same: a file that is read and not noted
would be a wrong answer one day. So each .c file that calls one of these functions either notes, or stands below.
"""

import re
from pathlib import Path

from source_files import ROOT, c_files, finish

OPENS = re.compile(
    r"(?<![\w>.])(?:open|openat|fopen|opendir|scandir|glob|stat|lstat|access|fstatat|nftw|readlink|realpath)\("
)
NOTES = re.compile(r"\bfiles_seen_note(?:_pattern|_unnamed)?\(")
ROOMS = ("live/", "mcp/", "commands/", "main.c")  # no page of a trace is made from what they read

# Why each need not note; a line that is no longer true fails.
NEED_NOT = {
    "base/io/files_seen.c": "it is the one that is told",
    "base/io/half_written.c": "output",
    "base/io/output_file.c": "output",
    "base/io/output_folder.c": "output",
    "base/core/large_array.c": "memory in a file",
    "base/core/memory_limit.c": "how much memory there is",
    "cost/flops/user_formula.c": "a file of an option: session_question.files",
    "pipeline/answer_cache.c": "the answers themselves",
    "pipeline/capture_run.c": "finds the files, before the question is asked; recording",
    "pipeline/hang_report.c": "the command ranks keeps no answer",
    "pipeline/file_content.c": "which files are of which kind: before the question is asked",
    "pipeline/file_kind.c": "what an error says of a file: errors are not kept",
    "pipeline/exported_results.c": "output",
    "pipeline/input_files.c": "finds the files, before the question is asked",
    "pipeline/live_tensorboard.c": "a running job",
    "pipeline/measure_device.c": "a device",
    "pipeline/output_place.c": "output",
    "pipeline/program_parts.c": "the program itself",
    "pipeline/recorded_job.c": "the command ettr keeps no answer",
    "pipeline/recorder_folders.c": "finds the files, before the question is asked",
    "pipeline/running_capture.c": "a running job",
    "readers/step_record/job_records.c": "a running job, and the command ettr",
    "readers/step_record/read_step_record.c": "a running job, and the command ettr",
    "trace/step_record/write_step_record.c": "output",
}


def main() -> None:
    problems = []
    checked = 0
    for path in (path for path in c_files() if path.suffix == ".c"):
        name = str(Path(*path.parts[1:]))
        text = re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', "", (ROOT / path).read_text(), flags=re.S)
        if name.startswith(ROOMS) or not OPENS.search(text):
            if name in NEED_NOT:
                problems.append(
                    f"{path}: opens nothing, take it off the list in {Path(__file__).name}"
                )
            continue
        checked += 1
        if NOTES.search(text) and name in NEED_NOT and name != "base/io/files_seen.c":
            problems.append(f"{path}: notes, and stands in the list of those that need not")
        elif not NOTES.search(text) and name not in NEED_NOT:
            problems.append(
                f"{path}: opens or looks for a file: note it (base/io/files_seen.h), or say here why it need not be"
            )
    finish(checked, problems, min(checked, len(problems)))


if __name__ == "__main__":
    main()
