"""The versions of packages that are tested, and what is installed in them beside .venv.

FastAPI and what it needs is not in .venv: ibmmq behaves differently where opentelemetry-api is
installed.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
FILES = (TOP / "constraints.txt", TOP / "tests" / "pages" / "packages.txt")
INSTALL_S = 120.0


def constraints() -> str:
    """Return NAME==VERSION of each, without the hashes: those would be asked of mqk too."""
    lines = [line for file in FILES for line in file.read_text().splitlines()]
    return "".join(f"{line.split()[0]}\n" for line in lines if re.match(r"[\w.-]+==", line))


def install(folder: Path, *packages: str) -> str:
    """Install packages, and what they need, in a folder; returns it for PYTHONPATH."""
    (pinned := folder / "constraints.txt").write_text(constraints())
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    told = ["--constraint", str(pinned), "--target", str(folder / "site"), *packages]
    subprocess.run([*command, *told], check=True, timeout=INSTALL_S)
    return str(folder / "site")
