"""Takes the pictures of the page for the documentation: ``python -m tests.browser.pictures``."""

from __future__ import annotations

import time
from pathlib import Path

from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.server import UiServer
from tests.browser import shop
from tests.browser.browsers import chromium

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SECONDS = 25
WIDTH, HEIGHT = 1600, 1540


def take() -> None:
    """Run the shop for half a minute, and take both pictures."""
    server = UiServer("127.0.0.1", 0)
    record = JobRecord("shop")
    server.add(record)
    now_ms = time.time_ns() // 1_000_000
    job = shop.start_watched(lambda env: shop.build(env, now_ms, seconds=120), record, "shop")
    time.sleep(SECONDS)
    with chromium(WIDTH, HEIGHT) as browser:
        for theme in ("light", "dark"):
            browser.get(server.address)
            browser.execute_script("localStorage.setItem('headrace-theme', arguments[0])", theme)
            browser.get(server.address)
            browser.set_window_size(WIDTH, HEIGHT)
            time.sleep(3)
            browser.save_screenshot(str(IMAGES / f"job-page-{theme}.png"))
    job.cancel()
    server.close()


if __name__ == "__main__":
    take()
