"""How long the page of a job with 200 operators takes: ``python -m bench.measure.page``.

It prints the milliseconds of an update, of which there is one each second, and those between two
frames while the graph is zoomed, in a headless Chromium.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median

from selenium.webdriver.support.ui import WebDriverWait

from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.server import UiServer
from tests.browser import shop
from tests.browser.browsers import chromium

UPDATES = "return performance.getEntriesByName('update').map((each) => each.duration)"
FRAMES = """
const [count, done] = arguments, times = [];
const canvas = document.getElementById("canvas");
function frame(now) {
  times.push(now);
  if (times.length > count) return done(times.slice(1).map((at, n) => at - times[n]));
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: times.length % 2 ? 60 : -60 }));
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
"""


def measure(updates: int, frames: int) -> dict[str, Sequence[float]]:
    """The milliseconds of each update and of each frame."""
    server = UiServer("127.0.0.1", 0)
    record = JobRecord("large")
    server.add(record)
    job = shop.start_watched(shop.two_hundred, record, "large")
    try:
        with chromium() as browser:
            browser.get(server.address)
            waiting = WebDriverWait(browser, 60 + updates)
            waiting.until(lambda _: len(browser.execute_script(UPDATES)) >= updates)
            return {
                "update": browser.execute_script(UPDATES),
                "frame while zooming": browser.execute_async_script(FRAMES, frames),
            }
    finally:
        job.cancel()
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--frames", type=int, default=60)
    given = parser.parse_args()
    print("| 200 operators | least ms | median ms | most ms |")
    print("| --- | ---: | ---: | ---: |")
    for name, found in measure(given.updates, given.frames).items():
        print(f"| {name} | {min(found):.0f} | {median(found):.0f} | {max(found):.0f} |")


if __name__ == "__main__":
    main()
