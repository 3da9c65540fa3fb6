"""The page of jobs in the browser, and jobs whose page a server has."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.datastream import StreamExecutionEnvironment
from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.server import UiServer
from tests.browser import shop

if TYPE_CHECKING:
    from selenium import webdriver

SECONDS = 30.0
CSS, ID = "css selector", "id"
"""How selenium finds elements."""


class Page:
    """The page of one or more jobs, in the browser."""

    def __init__(self, browser: webdriver.Chrome, server: UiServer) -> None:
        self.browser, self.server = browser, server
        browser.execute_cdp_cmd("Performance.enable", {})

    def open(self, theme: str = "light", fragment: str = "") -> None:
        # Chromium has one storage for all ports of a host: begin without what another test left.
        self.browser.get(f"{self.server.address}icon.svg")
        self.browser.get(self.server.address)
        self.browser.execute_script("localStorage.setItem('headrace-theme', arguments[0])", theme)
        self.browser.execute_script("sessionStorage.clear()")
        self.browser.get("about:blank")
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.browser.get(f"{self.server.address}{fragment}")

    def text(self, selector: str) -> str:
        return str(self.browser.find_element(CSS, selector).get_attribute("textContent"))

    def texts(self, selector: str) -> list[str]:
        found = self.browser.find_elements(CSS, selector)
        return [str(each.get_attribute("textContent")) for each in found]

    def wait(self, condition: Callable[[], Any]) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, SECONDS).until(lambda browser: condition())

    def wait_for_status(self, status: str) -> None:
        self.wait(lambda: self.text("#status") == status)

    def errors(self) -> list[str]:
        return [each["message"] for each in self.browser.get_log("browser")]

    def updates(self) -> int:
        """Return how often the page has shown what it was answered."""
        script = "return performance.getEntriesByName('update').length"
        return int(self.browser.execute_script(script))

    def wait_for_updates(self, more: int) -> None:
        until = self.updates() + more
        self.wait(lambda: self.updates() >= until)

    def layouts(self) -> int:
        """Return how often Chromium has laid out the page."""
        found = self.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return int({each["name"]: each["value"] for each in found}["LayoutCount"])

    def hosts(self) -> set[str]:
        """Return the hosts of all requests."""
        messages = [json.loads(each["message"]) for each in self.browser.get_log("performance")]
        urls = [
            each["message"]["params"]["request"]["url"]
            for each in messages
            if each["message"]["method"] == "Network.requestWillBeSent"
        ]
        return {url.split("/")[2] for url in urls if url.startswith("http")}


def run(
    server: UiServer, build: Callable[[StreamExecutionEnvironment], None], name: str = "shop"
) -> Any:
    """Start a job whose page the server has."""
    record = JobRecord(name)
    record.token = "open sesame"
    server.add(record)
    return shop.start_watched(build, record, name)
