"""Charts are well-formed SVG that shows what it was given."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import charts

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_bars_are_as_long_as_their_values() -> None:
    svg = charts.bars("Rides <today>", {"a & b": 50, "c": 100, "none": 0})
    widths = [
        float(bar.get("width", "0")) for bar in ElementTree.fromstring(svg).iter(f"{SVG}rect")
    ][1:]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.1) and widths[2] == 0
    assert texts(svg) == ["Rides <today>", "a & b", "50", "c", "100", "none", "0"]


def test_lines_lie_between_their_ticks() -> None:
    svg = charts.lines(
        "t", {"up": [(0, 0), (10, 100)], "plan": [(0, 50), (10, 50)]}, dashed=["plan"]
    )
    root = ElementTree.fromstring(svg)
    up, plan = [
        [tuple(map(float, point.split(","))) for point in (line.get("points") or "").split()]
        for line in root.iter(f"{SVG}polyline")
    ]
    assert up[0][0] == plan[0][0] < up[1][0] == plan[1][0]
    assert up[0][1] > plan[0][1] == plan[1][1] > up[1][1]
    assert plan[0][1] == pytest.approx((up[0][1] + up[1][1]) / 2)
    assert len(list(root.iter(f"{SVG}circle"))) == 2  # a dashed line has no dots
    assert {"0", "20", "100", "10", "up", "plan"} <= set(texts(svg))


def test_faint_lines_are_drawn_beside_their_series() -> None:
    svg = charts.lines("t", {"a": [(0, 0)], "b": [(0, 5)]}, faint={"b": [(0, 10), (9, 10)]})
    found = [
        (line.get("stroke"), line.get("stroke-width"))
        for line in ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    ]
    one, two, *_ = charts.COLOURS
    assert found == [(one, "2"), (two, "2"), (two, "1")]
    assert {"10", "8"} <= set(texts(svg))  # both scales reach as far as they do


@pytest.mark.parametrize("series", [{}, {"one": [(5, 0)]}, {"flat": [(1, 7), (2, 7)]}])
def test_there_may_be_little_to_draw(series: dict[str, list[tuple[int, int]]]) -> None:
    assert texts(charts.lines("t", series))[0] == "t"
    assert texts(charts.bars("t", {})) == ["t"]
