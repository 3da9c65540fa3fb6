"""A headless Chromium, driven by selenium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium import webdriver

WIDTH, HEIGHT = 1600, 1000
HOW = "apt-get install chromium chromium-driver"


@contextmanager
def chromium(width: int = WIDTH, height: int = HEIGHT) -> Iterator[webdriver.Chrome]:
    """Start Chromium in a ``with`` block; skip the test if the machine has none."""
    # Only here: the import takes a second, and most runs only collect the tests that need it.
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip(f"missing: Chromium and its driver ({HOW})")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",  # a test may run as root
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    found.set_script_timeout(30)
    try:
        yield found
    finally:
        found.quit()
