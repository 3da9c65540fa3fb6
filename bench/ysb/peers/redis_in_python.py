"""What contenders without a connector for Redis do in Python."""

from __future__ import annotations

from typing import Any

import redis

from bench.ysb.asked import RESULTS


class Campaigns:
    """The campaign of an ad, asked for once in each process."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url, decode_responses=True)
        self._known: dict[str, str] = {}

    def of(self, ad: str) -> str:
        """The campaign."""
        found = self._known.get(ad)
        if found is None:
            found = self._known[ad] = self._client.get(ad)
        return found


class Results:
    """Writes results, each at once."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)

    def add(self, campaign: str, window_ms: int, views: int) -> None:
        """Write one."""
        fields: dict[Any, Any] = {"campaign": campaign, "window": window_ms, "views": views}
        self._client.xadd(RESULTS, fields)
