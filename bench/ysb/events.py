"""Ad events: what each is, as a function of its index, and what the job must count.

As in the original: 100 campaigns of 10 ads, a view, a click or a purchase in equal shares, 100
users and 100 pages, JSON texts throughout (the event time, too: milliseconds).
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

CAMPAIGNS, ADS_EACH = 100, 10
ADS = CAMPAIGNS * ADS_EACH
WINDOW_MS = 10_000
VIEW = "view"
EVENT_TYPES = (VIEW, "click", "purchase")
AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
TAIL_MS = 3_600_000
"""So long after the last window comes the tail: a view of each campaign in each partition.

A window ends for a contender when it sees a later event, for some contenders a later one of the
same campaign. The tail's own windows are not checked.
"""
PAST_MS = 1_700_000_000_000
"""Where the event time of events begins that were made beforehand."""
LIVE_TAIL_MS = 3_000_000
"""So long after a live run began comes its tail. Some contenders send events on with their time,
and a broker takes none of more than an hour ahead."""

Tally = Counter[tuple[str, int]]
"""Views by campaign and start of the window in ms."""

_NAMES = uuid.UUID("6f3d1f5e-7a0c-4b7e-9d43-0c5a2c1f9b10")
_USERS = _PAGES = 100
_EVENT = (
    b'{"user_id": "%b", "page_id": "%b", "ad_id": "%b", "ad_type": "%b", "event_type": "%b",'
    b' "event_time": "%d", "ip_address": "1.2.3.4"}'
)


def _identifiers(kind: str, count: int) -> tuple[str, ...]:
    return tuple(str(uuid.uuid5(_NAMES, f"{kind} {number}")) for number in range(count))


AD_IDS, CAMPAIGN_IDS = _identifiers("ad", ADS), _identifiers("campaign", CAMPAIGNS)
_USER_IDS, _PAGE_IDS, _AD_BYTES, _AD_TYPE_BYTES, _EVENT_TYPE_BYTES = (
    tuple(text.encode() for text in texts)
    for texts in (
        _identifiers("user", _USERS),
        _identifiers("page", _PAGES),
        AD_IDS,
        AD_TYPES,
        EVENT_TYPES,
    )
)


def campaigns() -> dict[str, str]:
    """The campaign of each ad: what Redis holds."""
    return {ad: CAMPAIGN_IDS[number // ADS_EACH] for number, ad in enumerate(AD_IDS)}


def scattered(index: int) -> int:
    """Four bytes that depend on all bits of an index."""
    mixed = (index * 0x9E3779B1) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x85EBCA77) & 0xFFFFFFFF
    return mixed ^ (mixed >> 13)


@dataclass(frozen=True)
class Events:
    """The events from ``start_ms`` on, so many in a second of event time."""

    start_ms: int
    per_second: int

    def time_ms(self, index: int) -> int:
        """When an event happened; later events are never earlier."""
        return self.start_ms + index * 1000 // self.per_second

    def made(self, index: int, tally: Tally) -> bytes:
        """An event as JSON; it is added to the tally if it is a view."""
        bits = scattered(index)
        ad, kind, at = bits % ADS, (bits >> 12) % 3, self.start_ms + index * 1000 // self.per_second
        if not kind:
            tally[CAMPAIGN_IDS[ad // ADS_EACH], at - at % WINDOW_MS] += 1
        return _EVENT % (
            _USER_IDS[(bits >> 3) % _USERS],
            _PAGE_IDS[(bits >> 9) % _PAGES],
            _AD_BYTES[ad],
            _AD_TYPE_BYTES[(bits >> 16) % 5],
            _EVENT_TYPE_BYTES[kind],
            at,
        )

    def tail_ms(self, count: int) -> int:
        """The event time of the tail after so many events."""
        return self.time_ms(count) + TAIL_MS


def of_all_campaigns(at_ms: int) -> Iterator[bytes]:
    """A view of each campaign at one time."""
    for ad in range(0, ADS, ADS_EACH):
        event = _USER_IDS[0], _PAGE_IDS[0], _AD_BYTES[ad], _AD_TYPE_BYTES[0]
        yield _EVENT % (*event, _EVENT_TYPE_BYTES[0], at_ms)


def prelude() -> Iterator[bytes]:
    """What a topic holds before events happen live: a window of each campaign, and what ends it.

    Once its results are there the contender has started. They are not checked.
    """
    yield from of_all_campaigns(PAST_MS)
    yield from of_all_campaigns(PAST_MS + 6 * WINDOW_MS)
