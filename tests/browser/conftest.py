"""One Chromium for all tests of the page, and for each test a server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from headrace.runners.ui.server import UiServer
from tests.browser import shop
from tests.browser.browsers import chromium
from tests.browser.pages import Page, run

if TYPE_CHECKING:
    from selenium import webdriver


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    with chromium() as found:
        yield found


@pytest.fixture
def server() -> Iterator[UiServer]:
    found = UiServer("127.0.0.1", 0)
    yield found
    found.close()


@pytest.fixture
def page(browser: webdriver.Chrome, server: UiServer) -> Iterator[Page]:
    yield Page(browser, server)
    browser.get("about:blank")


@pytest.fixture
def shop_job(server: UiServer) -> Iterator[Any]:
    now_ms = time.time_ns() // 1_000_000
    job = run(server, lambda env: shop.build(env, now_ms, seconds=120))
    yield job
    job.cancel()
