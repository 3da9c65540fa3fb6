"""The structure of the package: it has no circle, and the drawing of it is the current one."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts import house

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "headrace"
DRAWING = ROOT / "docs" / "adr" / "0016-house.svg"


@pytest.fixture(scope="module")
def modules() -> house.Graph:
    return house.imports(SOURCE)


def test_no_folder_and_no_file_is_in_a_circle(modules: house.Graph) -> None:
    assert house.all_circles(modules) == {}
    assert house.circles(modules) == []


def test_circles_that_type_checkers_see_are_those_of_the_api() -> None:
    """A stream gives its environment, a function is given states that hold functions."""
    assert house.circles(house.imports(SOURCE, types=True)) == [
        [
            f"headrace.datastream.{name}"
            for name in (
                "_functions.batches",
                "_functions.checkpointed",
                "_functions.function",
                "functions",
                "state",
            )
        ],
        [f"headrace.datastream.{name}" for name in ("data_stream", "stream_execution_environment")],
    ]


def test_the_drawing_is_the_current_one(modules: house.Graph) -> None:
    """Else: python scripts/house.py > docs/adr/0016-house.svg"""
    assert DRAWING.read_text("utf-8") == house.svg(house.parts(modules, "headrace"))


# How it is found out.

FILES = {
    "__init__": "",
    "top": "import p.a.one, os\nfrom p.b import two as renamed\n",
    "a/__init__": "",
    "a/one": "def f():\n    from p import ground\n",
    "b/__init__": "",
    "b/two": "import typing\n"
    "if typing.TYPE_CHECKING:\n    import p.top\nelse:\n    import p.ground\n",
    "ground": "",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "p" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "p"


def test_imports_are_those_at_run_time(tmp_path: Path) -> None:
    found = house.imports(written(tmp_path, FILES))
    assert {name: set(imported) for name, imported in found.items() if imported} == {
        "p.top": {"p.a.one", "p.b.two"},
        "p.a.one": {"p.ground"},
        "p.b.two": {"p.ground"},
    }
    typed = house.imports(tmp_path / "p", types=True)
    assert house.circles(typed) == [["p.b.two", "p.top"]]


def test_parts_stand_above_what_they_import(tmp_path: Path) -> None:
    rooms = house.parts(house.imports(written(tmp_path, FILES)), "p")
    assert house.floors(rooms) == {"ground": 1, "a": 2, "b": 2, "top": 3}
    assert house.circles(rooms) == []


def test_a_circle_between_folders_is_one_though_its_files_are_in_none(tmp_path: Path) -> None:
    files = {**FILES, "a/other": "import p.top", "top": "from p.a.one import f"}
    modules = house.imports(written(tmp_path, files))
    assert house.circles(modules) == []
    assert house.all_circles(modules) == {"p": [["a", "top"]]}
    rooms = house.parts(modules, "p")
    assert house.floors(rooms) == {"ground": 1, "b": 2, "a": 2, "top": 2}


def test_a_drawing_has_a_box_for_each_part_and_no_arrow_that_follows(tmp_path: Path) -> None:
    rooms = {"top": {"middle", "ground"}, "middle": {"ground"}, "ground": set[str]()}
    name = "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(house.svg(rooms))
    assert sorted(str(box.text) for box in drawn.iter(f"{name}text")) == sorted(rooms)
    arrows = [path for path in drawn.iter(f"{name}path") if path.get("marker-end")]
    assert [arrow.get("stroke") for arrow in arrows] == ["gray", "gray"]
    circle = ElementTree.fromstring(house.svg({"a": {"b"}, "b": {"a"}}))
    strokes = [path.get("stroke") for path in circle.iter(f"{name}path") if path.get("marker-end")]
    assert strokes == ["red", "red"]


def test_circles_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path, {**FILES, "a/other": "import p.top"})
    assert house.main(["--source", str(source), "--circles"]) == 1
    assert capsys.readouterr().out == "p: a, top\n"
