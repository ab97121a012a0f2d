"""A program that is killed before a line: `python -m tests.support.killed_at_line PROGRAM`.

For each line of standard input, a JSON list of a number and the program's arguments, main() runs
in a forked child, which ends without a word before its line of that number, counted as they are
executed; 0: none. The answer is a line: "killed", or what the program printed. The program is
imported once, and must not connect or start threads when it is.
"""

import contextlib
import importlib.util
import io
import json
import os
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

KILLED = 9


def load(program: Path) -> Any:
    """Import a program by its path."""
    spec = importlib.util.spec_from_file_location(program.stem, program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(program: Path) -> None:
    """Run what standard input asks for, until it ends."""
    module = load(program)
    for line in sys.stdin:
        number, arguments = json.loads(line)
        out, into = os.pipe()
        if not (child := os.fork()):
            os._exit(_run(module, number, arguments, into))
        os.close(into)
        with os.fdopen(out) as file:
            printed = file.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in (0, KILLED):
            sys.exit(f"{program} {arguments} ended with {status}")
        print(json.dumps("killed" if status == KILLED else printed), flush=True)


def _run(module: Any, number: int, arguments: list[str], into: int) -> int:
    """Run the program, in a child; returns its exit status."""
    printed = io.StringIO()
    left = number

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            left -= 1
            if not left:
                os._exit(KILLED)
        return trace

    try:
        with contextlib.redirect_stdout(printed):
            sys.settrace(trace)
            module.main(arguments)
            sys.settrace(None)
    except Exception:  # noqa: BLE001 -- it goes no further: this is not the child's loop
        traceback.print_exc()
        return 1
    os.write(into, printed.getvalue().strip().encode())
    return 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
