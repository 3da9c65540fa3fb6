"""``tests/unit`` mirrors ``src/headrace``: a module's own test is found by the module's path."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

UNIT = Path(__file__).parent
ROOT = UNIT.parents[1]
SOURCE = ROOT / "src" / "headrace"
BESIDE_THE_SOURCE = {"bench", "docs", "scripts"}


def test_each_folder_is_one_of_the_source() -> None:
    folders = {path.parent.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    missing = [each for each in folders if not (SOURCE / each).is_dir()]
    assert {str(each).split("/")[0] for each in missing} <= BESIDE_THE_SOURCE


def test_a_test_with_the_name_of_one_module_lies_where_the_module_lies() -> None:
    paths: defaultdict[tuple[str, str], set[Path]] = defaultdict(set)
    for module in SOURCE.rglob("*.py"):
        place = module.relative_to(SOURCE)
        place = place.parent if module.stem == "__init__" else place
        if len(place.parts) > 1:
            paths[place.parts[0], place.stem.lstrip("_")].add(place.parent)
    elsewhere = []
    for test in UNIT.rglob("test_*.py"):
        place = test.relative_to(UNIT)
        folders = paths[place.parts[0], place.stem.removeprefix("test_")]
        if len(folders) == 1 and place.parent not in folders:
            elsewhere.append(f"{place}: {folders}")
    assert elsewhere == []
