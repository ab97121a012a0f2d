"""House rules of files that are no Python: links of pages, the changelog, pinned requirements.

Like tidy_rules, these know nothing of pytest; test_tidy.py runs them on the repository and on bad
samples.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

FENCED = re.compile(r"^ *(```+).*?^ *\1 *$", re.DOTALL | re.MULTILINE)


def broken_links(path: Path, text: str) -> list[str]:
    """Relative links of a Markdown file that lead to no file, or to no heading in it."""
    problems = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", text)):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = path.parent / target if target else path
        if not file.exists():
            problems.append(f"{path}: the link to {target} leads nowhere")
        elif anchor and anchor not in headings(text if file == path else file.read_text()):
            problems.append(f"{path}: there is no heading #{anchor} in {file.name}")
    return problems


def headings(text: str) -> set[str]:
    """The anchors of a page's headings, as Git hosts make them."""
    found: dict[str, int] = {}
    anchors = set()
    for heading in re.findall(r"^#+ +(.*?) *$", FENCED.sub("", text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{found[anchor]}" if found[anchor] else anchor)
    return anchors


CHANGES = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
RELEASE = re.compile(r"## \[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d{2}-\d{2}")


def changelog(text: str) -> list[str]:
    """The shape of Keep a Changelog: Unreleased first, then releases from new to old."""
    lines = text.splitlines()
    problems = [] if lines[:1] == ["# Changelog"] else ["the first line is not '# Changelog'"]
    releases = [line for line in lines if line.startswith("## ")]
    if releases[:1] != ["## [Unreleased]"]:
        problems.append("the first section is not '## [Unreleased]'")
    versions = []
    for line in releases[1:]:
        match = RELEASE.fullmatch(line)
        if match is None:
            problems.append(f"{line!r} is not '## [1.2.3] - 2001-02-03'")
        else:
            versions.append(tuple(map(int, match.groups())))
    if versions != sorted(set(versions), reverse=True):
        problems.append("the releases do not go from new to old, each once")
    for number, line in enumerate(lines):
        if line.startswith("### "):
            if line.removeprefix("### ") not in CHANGES:
                problems.append(f"{line!r} is none of {', '.join(CHANGES)}")
            if not any(rest.startswith("- ") for rest in _until_heading(lines[number + 1 :])):
                problems.append(f"{line!r} lists nothing")
    return problems


def _until_heading(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("#"):
            return
        yield line


def constraints(text: str, required: Iterable[str]) -> list[str]:
    """Exact versions with hashes, of everything required, and no address."""
    problems = ["an address in it"] if "://" in text else []
    logical = [line for line in text.replace("\\\n", " ").splitlines() if line[:1].strip(" #")]
    pinned = set()
    for line in logical:
        match = re.match(r"([A-Za-z0-9._-]+)==\S+ +--hash=sha256:[0-9a-f]{64}", line)
        if match is None:
            problems.append(f"{line[:60]!r} is not 'name==version --hash=sha256:...'")
        else:
            pinned.add(_normal(match[1]))
    names = {_normal(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in required}
    problems.extend(f"{name} is required and not pinned" for name in sorted(names - pinned))
    return problems


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
