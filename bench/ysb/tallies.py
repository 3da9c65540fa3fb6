"""Whether the results are what the generator counted: every window, once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.ysb.events import WINDOW_MS, Tally


@dataclass(frozen=True)
class Result:
    """What a contender wrote, and when Redis got it (ms, Redis' clock)."""

    campaign: str
    window_ms: int
    views: int
    written_ms: int

    @property
    def latency_ms(self) -> int:
        """How long after its window's end it was written."""
        return self.written_ms - self.window_ms - WINDOW_MS


def difference(results: Iterable[Result], expected: Tally, tail_ms: int) -> str | None:
    """What is wrong with the results; None if each window is there once with the right count.

    Windows from ``tail_ms`` on are left out.
    """
    found: dict[tuple[str, int], int] = {}
    for result in results:
        place = result.campaign, result.window_ms
        if result.window_ms + WINDOW_MS > tail_ms:
            continue
        if place in found:
            return f"{_named(place)} was written twice: {found[place]} and {result.views} views"
        found[place] = result.views
    for place, views in found.items():
        if views != expected.get(place, 0):
            return f"{_named(place)} has {views} views, expected {expected.get(place, 0)}"
    missing = expected.keys() - found.keys()
    if missing:
        first = min(missing, key=lambda place: place[1])
        return f"{len(missing)} windows of {len(expected)} are missing, {_named(first)} first"
    return None


def _named(place: tuple[str, int]) -> str:
    return f"campaign {place[0]}, window {place[1]}"


def save(tally: Tally, path: Path) -> None:
    """Write a tally down; the file is there only when it is whole."""
    rows = [[campaign, window, views] for (campaign, window), views in tally.items()]
    part = path.with_suffix(".part")
    part.write_text(json.dumps(rows))
    part.rename(path)


def load(path: Path) -> Tally:
    """A tally that was saved."""
    rows = json.loads(path.read_text())
    return Tally({(campaign, window): views for campaign, window, views in rows})
