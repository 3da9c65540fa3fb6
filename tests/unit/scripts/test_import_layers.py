"""How circles of imports are found and drawn; `make check` looks for those of the package."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts import import_layers

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "headrace"
DRAWING = ROOT / "docs" / "adr" / "0016-import-layers.svg"


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
    found = import_layers.imports(written(tmp_path, FILES))
    assert {name: set(imported) for name, imported in found.items() if imported} == {
        "p.top": {"p.a.one", "p.b.two"},
        "p.a.one": {"p.ground"},
        "p.b.two": {"p.ground"},
    }
    typed = import_layers.imports(tmp_path / "p", types=True)
    assert import_layers.circles(typed) == [["p.b.two", "p.top"]]


def test_parts_stand_above_what_they_import(tmp_path: Path) -> None:
    packages = import_layers.parts(import_layers.imports(written(tmp_path, FILES)), "p")
    assert import_layers.floors(packages) == {"ground": 1, "a": 2, "b": 2, "top": 3}
    assert import_layers.circles(packages) == []


def test_a_circle_between_folders_is_one_though_its_files_are_in_none(tmp_path: Path) -> None:
    files = {**FILES, "a/other": "import p.top", "top": "from p.a.one import f"}
    modules = import_layers.imports(written(tmp_path, files))
    assert import_layers.circles(modules) == []
    assert import_layers.all_circles(modules) == {"p": [["a", "top"]]}
    packages = import_layers.parts(modules, "p")
    assert import_layers.floors(packages) == {"ground": 1, "b": 2, "a": 2, "top": 2}


def test_a_drawing_has_a_box_for_each_part_and_no_arrow_that_follows(tmp_path: Path) -> None:
    packages = {"top": {"middle", "ground"}, "middle": {"ground"}, "ground": set[str]()}
    name = "{http://www.w3.org/2000/svg}"
    drawn = ElementTree.fromstring(import_layers.svg(packages))
    assert sorted(str(box.text) for box in drawn.iter(f"{name}text")) == sorted(packages)
    arrows = [path for path in drawn.iter(f"{name}path") if path.get("marker-end")]
    assert [arrow.get("stroke") for arrow in arrows] == ["gray", "gray"]
    circle = ElementTree.fromstring(import_layers.svg({"a": {"b"}, "b": {"a"}}))
    strokes = [path.get("stroke") for path in circle.iter(f"{name}path") if path.get("marker-end")]
    assert strokes == ["red", "red"]


def test_circles_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path, {**FILES, "a/other": "import p.top"})
    assert import_layers.main(["--source", str(source), "--circles"]) == 1
    assert capsys.readouterr().out == "p: a, top\n"
