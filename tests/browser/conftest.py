"""One Chromium for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium import webdriver

from tests.browser.browsers import chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    with chromium() as found:
        yield found
