"""What the page shows at a look, and whether it can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.runners.ui.server import UiServer
from tests.browser.pages import CSS, ID, Page, run
from tests.browser.test_page import failing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

CARDS = """
return [...document.querySelectorAll(".card-box")].map((box) => {
  const texts = (name) => [...box.parentNode.querySelectorAll(name)]
    .filter((each) => getComputedStyle(each).display !== "none").map((each) => each.textContent);
  return Object.fromEntries(
    ["label", "share", "side", "behind", "rate"].map((name) => [name, texts(`.${name}`)]));
});
"""

SEEN = """
const parse = (color) => {
  const found = color.match(/[\\d.]+/g).map(Number);
  const scale = color.startsWith("color(") ? 255 : 1;
  return [...found.slice(0, 3).map((each) => each * scale), found.length > 3 ? found[3] : 1];
};
const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
const layers = (node) => {
  const found = [];
  const row = node.closest(".row");
  if (row) {
    const card = row.closest("g:has(> .card-box)").querySelector(".card-box");
    for (const each of [row.querySelector(".row-back"), card]) {
      found.push(parse(getComputedStyle(each).fill));
    }
  }
  for (let each = node; each; each = each.parentElement) {
    const color = parse(getComputedStyle(each).backgroundColor);
    if (!(each instanceof SVGElement)) found.push(color);
  }
  return found.filter((color) => color[3] > 0);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = [];
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement, style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  if (!walker.currentNode.textContent.trim() || !box.width || !box.height) continue;
  if (["STYLE", "SCRIPT", "TITLE", "OPTION", "title"].includes(node.tagName)) continue;
  const drawn = node instanceof SVGElement;
  const ground = layers(node).reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  const color = over(parse(drawn ? style.fill : style.color), ground);
  const size = parseFloat(style.fontSize) * (drawn ? node.getScreenCTM().a : 1);
  found.push([walker.currentNode.textContent.trim(), color, ground, size]);
}
return found;
"""
"""Each text that is seen, its color, that below it, and its size on the screen."""

BARS = """
const canvas = document.getElementById("timeline"), context = canvas.getContext("2d");
const style = getComputedStyle(document.documentElement);
const colors = arguments[0].map((name) => {
  context.save();
  context.fillStyle = style.getPropertyValue(`--${name}`);
  const [r, g, b] = context.fillStyle.match(/[0-9a-f]{2}/g).map((each) => parseInt(each, 16));
  context.restore();
  return (r << 16) | (g << 8) | b;
});
const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
const columns = colors.map(() => new Set());
for (let at = 0; at < data.length; at += 4) {
  const phase = colors.indexOf((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
  if (phase >= 0) columns[phase].add((at / 4) % canvas.width);
}
const bars = new Set(columns.flatMap((each) => [...each]));
const starts = [...bars].filter((x) => !bars.has(x - 1));
return [starts.length, columns.map((each) => each.size)];
"""
"""How many bars the timeline has, and how many columns of pixels have the color of each phase."""

PHASES = ["plan", "read", "process", "commit"]


def luminance(color: list[float]) -> float:
    """The relative luminance of a color (WCAG 2.2)."""
    parts = [each / 255 for each in color]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(color: list[float], ground: list[float]) -> float:
    light, dark = sorted((luminance(color), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def cards(page: Page) -> dict[str, dict[str, list[str]]]:
    """The texts of each card, by the name of its first operator."""
    return {each["label"][0]: each for each in page.browser.execute_script(CARDS)}


def test_each_card_shows_how_busy_it_is_what_waits_and_its_watermark(
    page: Page, shop_job: Any
) -> None:
    page.open()
    page.wait_for_status("RUNNING")
    page.wait(lambda: all("/s" in rate for rate in page.texts(".row .rate")))
    page.wait(lambda: any("lost" in text for text in page.texts(".row .side")))
    page.wait(lambda: all(page.texts(".row .behind")))
    found = cards(page)
    assert {"orders", "payments", "clicks", "store visits", "dashboard"} < found.keys()
    sinks = {"revenue table", "dashboard", "alerts"}
    for name, card in found.items():
        assert card["behind"], name
        assert all(re.fullmatch(r"-?[\d.]+ (s|ms) behind", text) for text in card["behind"]), name
        if name not in sinks:  # which run in the tasks of others
            assert len(card["share"]) == 1 and re.fullmatch(r"\d+ %", card["share"][0]), name
        if name in ("orders", "payments", "clicks", "store visits"):
            assert card["side"][0].endswith(" waiting"), name


def test_each_edge_shows_a_rate(page: Page, shop_job: Any) -> None:
    page.open()
    page.wait_for_status("RUNNING")
    edges = len(page.browser.find_elements(CSS, "path.edge"))
    page.wait(lambda: len(page.texts(".edge-label text:first-child")) >= 10)
    page.wait(
        lambda: all(
            re.fullmatch(r"[\d.,]+[kMG]?/s", text)
            for text in page.texts(".edge-label text:first-child")
        )
    )
    assert (
        len(page.texts(".edge-label"))
        == len(page.browser.find_elements(CSS, "path.edge"))
        >= max(edges, 10)
    )


def test_the_timeline_has_a_bar_for_each_micro_batch_with_its_parts(
    page: Page, shop_job: Any
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page.open()
    page.wait_for_status("RUNNING")

    def drawn() -> tuple[int, list[int]]:
        bars, columns = page.browser.execute_script(BARS, PHASES)
        return bars, columns

    page.wait(lambda: drawn()[0] >= 20)
    assert all(columns > 0 for columns in drawn()[1]), "each part has its color"
    timeline = page.browser.find_element(ID, "timeline")
    page.browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", timeline)
    right = timeline.size["width"] // 2 - 12
    ActionChains(page.browser).move_to_element_with_offset(timeline, right, 0).perform()
    lines = page.text("#tip").splitlines()
    assert re.fullmatch(r"micro-batch [\d,]+: .+ m?s", lines[0])
    for name, line in zip(PHASES, lines[1:5], strict=True):
        assert re.fullmatch(rf"{name}: [\d.]+ m?s", line)


@pytest.fixture
def both_jobs(server: UiServer, shop_job: Any) -> Iterator[None]:
    """Beside the shop, a job that has failed."""
    with pytest.raises(ZeroDivisionError):
        run(server, failing, "fails").wait()
    yield


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_can_be_read(page: Page, both_jobs: None, theme: str) -> None:
    page.open(theme)
    page.wait_for_status("RUNNING")
    page.wait(lambda: any("lost" in text for text in page.texts(".row .side")))
    page.wait(lambda: any("waiting" in text for text in page.texts(".row .side")))
    seen = page.browser.execute_script(SEEN)
    options = page.browser.find_elements(CSS, "#jobs option")
    next(each for each in options if each.text.startswith("fails")).click()
    page.wait_for_status("FAILED")
    page.wait(lambda: page.texts("#failures h3"))
    page.browser.find_element(CSS, "#failures summary").click()
    page.browser.find_elements(CSS, ".row")[0].click()
    page.wait(lambda: page.texts("#detail dt"))
    seen += page.browser.execute_script(SEEN)
    texts = {text for text, *_ in seen}
    assert {"shop", "RUNNING", "FAILED", "orders", "Micro-batches", "traceback", "uid"} <= texts
    faint = {
        (text, round(contrast(color, ground), 2))
        for text, color, ground, _ in seen
        if contrast(color, ground) < 4.5
    }
    assert faint == set()
    small = {(text, round(size, 1)) for text, _, _, size in seen if size < 11}
    assert small == set()
