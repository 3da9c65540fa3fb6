"""The drawn pictures are in step, well formed, and each stands on a page with its description."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from scripts import pictures

_IMAGE = re.compile(r"!\[([^]]+)\]\([./]*images/([\w-]+)\.svg\)")


def test_the_pictures_are_in_step() -> None:
    assert pictures.main(["--check"]) == 0


def test_a_picture_that_differs_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pictures, "PICTURES", {"no-such-picture": pictures.count})
    assert pictures.main(["--check"]) == 1
    assert "docs/images/no-such-picture.svg is out of date" in capsys.readouterr().out


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_described_where_it_stands(name: str) -> None:
    pages = (pictures.ROOT / "docs").rglob("*.md")
    shown = [image for page in pages for image in _IMAGE.findall(page.read_text("utf-8"))]
    tree = ElementTree.fromstring(pictures.PICTURES[name]().svg())
    title = tree.findtext("{http://www.w3.org/2000/svg}title")
    assert (title, name) in shown
