"""The page of a job in a real browser."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.runners.ui.server import UiServer
from tests.browser import shop
from tests.browser.pages import CSS, ID, Page, run

if TYPE_CHECKING:
    from selenium import webdriver

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_a_running_job_is_shown(page: Page, shop_job: Any) -> None:
    page.open()
    page.wait_for_status("RUNNING")
    page.wait(lambda: "k" in page.text("#in-rate"))
    page.wait(lambda: page.text("#lag").endswith(" s"))
    assert page.text("#name") == "shop"
    labels = page.texts(".row .label")
    assert "orders" in labels and "dashboard" in labels
    rates = dict(zip(labels, page.texts(".row .rate"), strict=True))
    page.wait(lambda: "/s" in rates["orders"])
    page.wait(lambda: any(text.endswith("/s") for text in page.texts(".edge-label text")))
    page.wait(lambda: page.texts("#states .what"))
    assert any("orders" in text for text in page.texts("#splits .what"))
    assert "ordersPriced" in page.texts("#figures dt")
    assert page.errors() == []
    assert page.hosts() == {f"127.0.0.1:{page.server.port}"}


def test_figures_move(page: Page, shop_job: Any) -> None:
    page.open()
    page.wait(lambda: page.text("#in") not in ("-", "0 in all"))
    seen = page.text("#in")
    page.wait(lambda: page.text("#in") != seen)


def test_an_operator_is_chosen(page: Page, shop_job: Any) -> None:
    page.open()
    page.wait(lambda: page.texts(".row .label"))
    page.wait(lambda: page.text("#in-rate") != "-")
    row = page.browser.find_elements(CSS, ".row")[0]
    row.click()
    page.wait(lambda: page.text("#detail h3") == "orders")
    assert "watermark" in page.texts("#detail dt")
    page.browser.find_element(CSS, "#detail .close").click()
    page.wait(lambda: not page.browser.find_element(ID, "detail").is_displayed())


def test_both_themes_have_their_colors(page: Page, shop_job: Any) -> None:
    grounds = []
    for theme in ("light", "dark"):
        page.open(theme)
        page.wait_for_status("RUNNING")
        grounds.append(
            page.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    assert grounds == ["rgb(238, 242, 245)", "rgb(11, 17, 22)"]
    page.browser.find_element(ID, "theme").click()  # dark, then as the system is
    assert page.text("#theme") == "Auto"


def failing(env: StreamExecutionEnvironment) -> None:
    def divided(value: int) -> int:
        return value // (value - 700)

    numbers = env.from_collection([*range(1000)]).name("numbers")
    numbers.map(divided).name("divide <b>badly</b>").print()


def test_a_failure_is_shown_with_the_line_and_without_values(page: Page, server: UiServer) -> None:
    job = run(server, failing, "<i>fails</i>")
    with pytest.raises(ZeroDivisionError):
        job.wait()
    page.open()
    page.wait_for_status("FAILED")
    assert page.text("#name") == "<i>fails</i>", "text, not a tag"
    page.wait(lambda: page.texts("#failures h3"))
    shown = page.text("#failures")
    assert "ZeroDivisionError" in shown and "return value // (value - 700)" in shown
    assert "in divide <b>badly</b>" in shown and "hidden" in shown
    assert "record:   700" not in shown
    assert page.texts(".row.failed .label")[0].startswith("divide")
    page.open(fragment="#token=open%20sesame")
    page.wait(lambda: "record:   700" in page.text("#failures"))
    assert "sesame" not in page.browser.current_url


def test_of_several_jobs_one_is_chosen(page: Page, server: UiServer) -> None:
    for name in ("first", "second"):
        job = run(server, lambda env: env.from_collection([1, 2]).print(), name)
        job.wait()
    page.open()
    page.wait_for_status("FINISHED")
    assert page.text("#name") == "second"
    page.browser.find_elements(CSS, "#jobs option")[0].click()
    page.wait(lambda: page.text("#name") == "first")


GIVEN_STATES = """
const done = arguments[0], ask = window.fetch;
const path = `page/jobs/${document.getElementById("jobs").value}/state?after=`;
ask(path).then((answer) => answer.json()).then((state) => {
  window.given = { ...state, batches: [] };
  window.fetch = async (path, options) =>
    path.includes("/state?") ? new Response(JSON.stringify(window.given)) : ask(path, options);
  window.changes = [];
  new MutationObserver((found) => window.changes.push(...found)).observe(
    document.body, { subtree: true, attributes: true, childList: true, characterData: true });
  done();
});
"""
"""Answers in place of the server, and keeps what changes in the document."""

CHANGES = """
const graph = document.getElementById("graph");
const found = window.changes.splice(0).map((each) => each.target);
const inside = found.filter((each) => graph.contains(each));
return [inside.length, found.length - inside.length];
"""
"""How much of the graph has changed, and how much of the rest of the page."""

ONE_FASTER = "Object.values(window.given.operators)[10]['out-rate'] += 1000"
ALL_FASTER = """
for (const each of Object.values(window.given.operators)) {
  each["out-rate"] += 1000;
  each["in-rate"] += 1000;
}
"""
TURNED_WHEEL = """
const canvas = document.getElementById("canvas");
for (let turn = 0; turn < 60; turn += 1) {
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: turn % 2 ? 60 : -60, cancelable: true }));
}
"""


def test_two_hundred_operators_cost_what_has_changed(page: Page, server: UiServer) -> None:
    """Each bound is far below the number of operators. Times: ``bench.measure.page``."""
    job = run(server, shop.two_hundred, "large")
    script = page.browser.execute_script

    def nodes() -> int:
        return len(page.browser.find_elements(CSS, "#graph *"))

    try:
        page.open()
        page.wait(lambda: len(page.texts(".row .label")) >= 200)
        page.wait(lambda: any(rate != "-" for rate in page.texts(".row .far")))
        page.browser.execute_async_script(GIVEN_STATES)
        page.wait_for_updates(2)
        script(CHANGES)
        page.wait_for_updates(2)
        assert script(CHANGES) == [0, 0], "nothing has changed"

        script(ONE_FASTER)
        page.wait_for_updates(2)
        in_graph, elsewhere = script(CHANGES)
        assert 1 <= in_graph <= 10, "a rate, and the edges that leave it"
        assert elsewhere <= 10

        made, layouts, updates = nodes(), page.layouts(), page.updates()
        script(ALL_FASTER)
        page.wait_for_updates(1)
        layouts, updates = page.layouts() - layouts, page.updates() - updates
        assert script(CHANGES)[0] >= 200
        assert nodes() == made
        assert layouts <= 6 * updates

        script(TURNED_WHEEL)
        assert script(CHANGES)[0] == 60, "a transform of the whole for each turn"
    finally:
        job.cancel()


def test_a_page_whose_program_has_ended_says_so(browser: webdriver.Chrome) -> None:
    server = UiServer("127.0.0.1", 0)
    page = Page(browser, server)
    run(server, lambda env: env.from_collection([1]).print()).wait()
    page.open()
    page.wait_for_status("FINISHED")
    closing = threading.Thread(target=server.close)
    closing.start()
    page.wait(lambda: page.text("#connection") == "the program has ended")
    closing.join()
    browser.get("about:blank")
