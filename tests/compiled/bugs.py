"""`make compiled-bugs`: the planted bugs of the simulation, found on compiled modules.

    python -m tests.compiled.bugs [NAME ...]

As tests/simulation/test_bugs.py, but what has the bug is machine code, optimized as it is shipped.
All bugs of the compiled modules are in one build (tests/compiled/switched.py), which takes some
minutes, and is kept in build/compiled-bugs while the sources are the same. What a bug is found by
must find nothing in that build while no bug is switched on.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from native import __main__ as native
from native.modules import groups
from native.target import OPTIMIZE, TOP, digest
from tests.compiled.switched import SWITCH_MODULE, VARIABLE, switched
from tests.simulation import bugs

TARGET = TOP / "build" / "compiled-bugs"
STAMP = TARGET / "made-of"
COPIED = {
    "adapter/storage/ledger/scan.py": ("Scan",),
    "adapter/storage/ledger/term.py": ("Term",),
    "adapter/storage/ledger/validity.py": ("Validity",),
}
"""Classes of which the search makes copies: of others compiled objects cannot be made empty."""
PROCESSES = 2


def main() -> None:
    """Build, and look for each bug; status 1 if one is not found."""
    wanted = sys.argv[1:]
    found = {one.stem: one for one in of_compiled()}
    own = (Path(__file__), Path(__file__).with_name("switched.py"))
    made_of = digest(OPTIMIZE) + "".join(one.read_text() for one in (*own, *found.values()))
    if not STAMP.is_file() or STAMP.read_text() != made_of:
        build(list(found.values()))
        STAMP.write_text(made_of)
    chosen = [found[name] for name in wanted or found]
    with ThreadPoolExecutor(PROCESSES) as threads:
        faults = [fault for fault in threads.map(fault_of, chosen) if fault]
        needless = sorted({tuple(bugs.arguments_of(one)) for one in chosen})
        faults += [fault for fault in threads.map(fault_without_bug, needless) if fault]
    print(*faults, f"{len(chosen)} planted bugs, {len(faults)} not as they are to be", sep="\n")
    sys.exit(bool(faults))


def of_compiled() -> list[Path]:
    """Return the patches of modules that are compiled."""
    compiled = {str(path) for paths in groups(TOP).values() for path in paths}
    return [patch for patch in bugs.patches() if bugs.read(patch.read_text())[0] in compiled]


def build(patches: Sequence[Path]) -> None:
    """Make the build with all of these bugs."""
    changed: dict[str, dict[str, str]] = defaultdict(dict)
    for patch in patches:
        path, text = bugs.applied(patch)
        changed[path][patch.stem] = text
    native.copy(TARGET)
    (TARGET / "adapter/planted.py").write_text(SWITCH_MODULE)
    for path, texts in changed.items():
        (TARGET / path).write_text(switched((TOP / path).read_text(), texts))
    native.mark_all(TARGET)
    for path, names in COPIED.items():
        native.mark(TARGET / path, names, "allow_interpreted_subclasses=True")
    native.build(TARGET, OPTIMIZE)


def fault_of(patch: Path) -> str:
    """Return what is wrong about a bug that is switched on, or ""."""
    judged = bugs.judged(TARGET, bugs.arguments_of(patch), {VARIABLE: patch.stem})
    found = judged.stdout.split(":")[1].strip() if judged.stdout.startswith("seed ") else ""
    is_found = judged.returncode == 1 and found and found not in bugs.NO_FINDS
    print(f"{patch.stem}: {found or 'not found'}", flush=True)
    return "" if is_found else f"{patch.stem} is not found: {judged.stdout}{judged.stderr}"


def fault_without_bug(arguments: tuple[str, ...]) -> str:
    """Return what these seeds find while no bug is switched on, or ""."""
    judged = bugs.judged(TARGET, arguments)
    text = f"{' '.join(arguments)} without a bug: {judged.stdout}{judged.stderr}"
    return text if judged.returncode else ""


if __name__ == "__main__":
    main()
