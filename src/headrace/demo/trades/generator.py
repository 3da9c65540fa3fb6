"""Generates a trading day: three feeds and their reference data, reproducible by seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from headrace.demo.trades.gamma import COLUMNS
from headrace.demo.trades.lifecycles import Rates, TradingDesk
from headrace.demo.trades.market import make_market
from headrace.demo.trades.wire import GAMMA, SYSTEMS, Draft, corrupt, write

FEEDS = ("alpha.fix", "beta.jsonl", "gamma.csv")

# Most messages keep their order; one in fifty is delayed by a random time up to the bound.
_USUAL_DELAY_MS = 3
_HELD_UP = 0.02

# Messages of a client's order and all orders below it, approximately: converts shares of messages
# to shares of orders.
_MESSAGES_PER_ORDER = 6


@dataclass(frozen=True)
class Day:
    """What was generated: records by feed, and how many of them are deliberately invalid.

    Orphans, overfills and events of closed orders depend on the course of the day, and are not
    counted.
    """

    records: dict[str, int]
    malformed: int
    unknown_instrument: int
    unknown_account: int
    duplicate: int


def generate(
    directory: Path,
    *,
    events: int = 200_000,
    seed: int = 7,
    out_of_orderness_ms: int = 5_000,
    rates: Rates | None = None,
) -> Day:
    """Write a day with this number of records, including invalid ones and duplicates.

    Within a feed, no event time is more than ``out_of_orderness_ms`` behind an earlier record's.
    The day is much shorter than the retention periods of the rules, so nothing expires.
    """
    if events < 0 or out_of_orderness_ms < 0:
        raise ValueError("events and out_of_orderness_ms must not be below 0")
    rates = rates or Rates()
    rng = random.Random(seed)
    market = make_market(rng)
    desk = TradingDesk(market, rates, rng)
    malformed, duplicate = int(events * rates.malformed), int(events * rates.duplicate)
    strangers = int(events * rates.unknown_instrument)
    wanted = events - malformed - duplicate - strangers
    if wanted < min(events, 1):
        raise ValueError("the rates leave no event that is as it should be")
    while len(desk.drafts) < wanted:
        desk.emit_client_order()
        if rng.random() < rates.orphan * _MESSAGES_PER_ORDER:
            desk.emit_orphan()
    # The last order may be cut off; its messages are in the order of events.
    del desk.drafts[wanted:]
    for _ in range(strangers):
        desk.emit_unknown_instrument()
    drafts = sorted(desk.drafts, key=lambda draft: (draft.time_ms, draft.system))
    again = rng.choices(range(len(drafts)), k=duplicate)
    sent = drafts + [drafts[place] for place in again]
    feeds = _write_feeds(drafts, again, malformed, out_of_orderness_ms, rng)
    directory.mkdir(parents=True, exist_ok=True)
    market.write(directory)
    for system, (name, lines) in enumerate(zip(FEEDS, feeds, strict=True)):
        with (directory / name).open("wb") as file:
            if system == GAMMA:
                file.write(",".join(COLUMNS).encode() + b"\n")
            file.writelines(line + b"\n" for line in lines)
    listed = {"", *(account for account, _, _ in market.accounts)}
    known = [draft for draft in sent if draft.listing is not market.unlisted]
    return Day(
        records={name: len(lines) for name, lines in zip(FEEDS, feeds, strict=True)},
        malformed=malformed,
        unknown_instrument=len(sent) - len(known),
        unknown_account=sum(draft.account not in listed for draft in known),
        duplicate=sum(drafts[place].listing is not market.unlisted for place in again),
    )


def _write_feeds(
    drafts: list[Draft],
    again: list[int],
    malformed: int,
    out_of_orderness_ms: int,
    rng: random.Random,
) -> tuple[list[bytes], ...]:
    """Return the lines of each feed, in order of arrival.

    Each arrives at its event time plus a delay of at most the bound. So every earlier line of its
    feed has an event time at most the bound after its own.
    """
    usual_ms = min(_USUAL_DELAY_MS, out_of_orderness_ms)

    def arrival_ms(draft: Draft) -> int:
        most_ms = out_of_orderness_ms if rng.random() < _HELD_UP else usual_ms
        return draft.time_ms + int(rng.random() * (most_ms + 1))

    sequences = [0] * len(SYSTEMS)
    lines: list[bytes] = []
    arrivals: tuple[list[tuple[int, bytes]], ...] = ([], [], [])
    news = []
    for place, draft in enumerate(drafts):
        system = draft.system
        sequences[system] += 1
        line = write(draft, sequences[system])
        lines.append(line)
        arrivals[system].append((arrival_ms(draft), line))
        if draft.kind == "NEW":
            news.append(place)
    for place in again:
        arrivals[drafts[place].system].append((arrival_ms(drafts[place]), lines[place]))
    for _ in range(malformed):
        # The system sends a corrupt message again; this is the corrupt one.
        place = rng.choice(news)
        system = drafts[place].system
        arrivals[system].append((arrival_ms(drafts[place]), corrupt(lines[place], system, rng)))
    for feed in arrivals:
        feed.sort(key=lambda arrival: arrival[0])
    return tuple([line for _, line in feed] for feed in arrivals)
