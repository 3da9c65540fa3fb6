"""Writing generated files, and checking that they are up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_or_check(
    script: str,
    wanted: Mapping[Path, str],
    arguments: list[str],
    root: Path = ROOT,
    present: Iterable[Path] = (),
) -> int:
    """Write the files, or with ``--check`` print those that are out of date; gives the exit code.

    ``present``: files that only this script writes; one that is not wanted is out of date.
    """
    unwanted = set(present) - wanted.keys()
    if arguments != ["--check"]:
        for path in unwanted:
            path.unlink()
        for path, text in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return 0
    stale = {
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text("utf-8") != text
    }
    for path in sorted(stale | unwanted):
        print(f"{path.relative_to(root)} is out of date: run python scripts/{script}")
    return int(bool(stale | unwanted))
