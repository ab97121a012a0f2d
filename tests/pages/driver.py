"""The Python that a reader of a page types into: blocks of a page share their variables.

For each block it reads three lines: the place, the file with the text, the file for what is
printed; it answers with a line when the block has ended. It is run by the reader's own Python and
must import nothing of ours.
"""

import contextlib
import sys
import traceback
from pathlib import Path


def main() -> None:
    """Run blocks until standard input ends."""
    answers = sys.stdout
    names: dict[str, object] = {"__name__": "__main__"}
    while place := sys.stdin.readline().rstrip("\n"):
        source, out = (Path(sys.stdin.readline().rstrip("\n")) for _ in range(2))
        answer = "\x04done"
        with out.open("w") as file, contextlib.redirect_stdout(file):
            try:
                exec(compile(source.read_text(), place, "exec"), names)
            except BaseException:  # noqa: BLE001 -- whatever the page raises is the answer
                traceback.print_exc(file=file)
                answer = "failed"
        answers.write(f"{answer}\n")
        answers.flush()


if __name__ == "__main__":
    main()
