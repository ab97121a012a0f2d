"""`make kills`: the long forms of tests, by parts; each result becomes a row of results.md.

``python -m tests.kills`` runs all parts, ``python -m tests.kills soak brokers`` some; ``--list``
says what they are. Status 1 if one fails; a part whose program is missing is no failure.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.kills.parts import PARTS, Part

TOP = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.md")
LONGEST_S = 30 * 60.0
"""What one part may take; its commands are ended then."""
PASSED = "passed"


def run(part: Part, until_s: float) -> str:
    """Run a part's commands, one after the other; returns the result in a few words."""
    if part.needs and shutil.which(part.needs) is None:
        return f"not run: no {part.needs}"
    for command in part.commands:
        left_s = until_s - time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, "-m", *command], cwd=TOP, timeout=left_s, check=False
            )
        except subprocess.TimeoutExpired:
            return f"failed: {' '.join(command)} took longer than {LONGEST_S / 60:.0f} minutes"
        if done.returncode:
            return f"failed: {' '.join(command)} ended with {done.returncode}"
    return PASSED


def commit() -> str:
    """The commit that is tested; a star says that files differ from it."""
    command = ["git", "describe", "--always", "--dirty=*", "--abbrev=10", "--exclude=*"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def note(name: str, result: str, took_s: float) -> None:
    """Write the row of a part in place of its last one."""
    lines = RESULTS.read_text().splitlines()
    day = datetime.now(UTC).date().isoformat()
    row = f"| {name} | {day} | {commit()} | {took_s / 60:.0f} min | {result} |"
    kept = [line for line in lines if not line.startswith(f"| {name} |")]
    RESULTS.write_text("\n".join([*kept, row]) + "\n")


def main() -> None:
    """Run the parts that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--list", action="store_true", help="say what the parts are")
    options = parser.parse_args()
    if options.list:
        for name, part in PARTS.items():
            print(f"{name:15} {part.shows}")
        return
    is_wrong = False
    for name in options.parts or PARTS:
        began_s = time.monotonic()
        result = run(PARTS[name], began_s + LONGEST_S)
        note(name, result, time.monotonic() - began_s)
        print(f"{name}: {result}", flush=True)
        is_wrong |= result.startswith("failed")
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
