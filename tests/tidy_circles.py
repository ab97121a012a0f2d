"""The house rule on circles: no file of ours imports, through others, itself.

Imports that only the type checker sees count too: who reads a file reads those names as well.
"""

from collections.abc import Iterable

from tests.tidy_rules import Source


def circles(sources: Iterable[Source]) -> list[str]:
    """Files that import each other in a circle, with what each imports of the circle."""
    ours = {source.module: source for source in sources if source.room is not None}
    imports = {
        module: {_file_of(name, ours.keys()) for _, name in source.imports} - {module, ""}
        for module, source in ours.items()
    }
    while True:
        # Whoever imports nothing that is left, or is imported by nothing that is left, is in none.
        imported = set().union(*imports.values())
        in_none = {one for one, names in imports.items() if not names or one not in imported}
        if not in_none:
            break
        imports = {one: names - in_none for one, names in imports.items() if one not in in_none}
    return [
        f"{ours[module].path}: is in a circle of imports: {', '.join(sorted(names))}"
        for module, names in sorted(imports.items())
    ]


def _file_of(name: str, modules: Iterable[str]) -> str:
    """The file that has a name, or ""."""
    known = set(modules)
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name
