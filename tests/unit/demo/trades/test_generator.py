from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.demo.trades import beta, fix, gamma
from headrace.demo.trades.book import memory_book
from headrace.demo.trades.events import Anomaly, DecodedEvent, NormalisedEvent
from headrace.demo.trades.generator import FEEDS, Day, generate
from headrace.demo.trades.lifecycles import Rates
from headrace.demo.trades.linker import Linker
from headrace.demo.trades.reference import Enricher
from headrace.errors import DecodeError

FILES = (*FEEDS, "instruments.csv", "accounts.csv")
Decode = Callable[[bytes], DecodedEvent]


def feeds(directory: Path) -> list[tuple[Decode, list[bytes]]]:
    alpha, beta_, gamma_ = ((directory / name).read_bytes().splitlines() for name in FEEDS)
    decoder = gamma.Decoder(gamma.header(gamma_[0]))
    return [(fix.decode, alpha), (beta.decode, beta_), (decoder.decode, gamma_[1:])]


def linked(directory: Path) -> tuple[int, Counter[str]]:
    """Run a day in memory: the number of documents, and of anomalies by kind."""
    enricher = Enricher.read(directory)
    kinds: Counter[str] = Counter()
    events: list[NormalisedEvent] = []
    for decode, lines in feeds(directory):
        for line in lines:
            try:
                decoded = decode(line)
            except DecodeError:
                kinds["MALFORMED"] += 1
                continue
            event, anomalies = enricher.normalise(decoded, line)
            kinds.update(anomaly.kind for anomaly in anomalies)
            if event is not None:
                events.append(event)
    events.sort(key=lambda event: event.turn)
    linkers: dict[str, Linker] = {}
    documents = 0
    for event in events:
        linker = linkers.setdefault(event.instrument_id, Linker(memory_book()))
        for output in linker.apply(event):
            if isinstance(output, Anomaly):
                kinds[output.kind] += 1
            else:
                documents += 1
    for linker in linkers.values():
        for output in linker.finish():
            assert isinstance(output, Anomaly)
            kinds[output.kind] += 1
    return documents, kinds


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Day]:
    directory = tmp_path_factory.mktemp("day")
    return directory, generate(directory, events=6_000, seed=5)


def test_a_day_has_as_many_records_as_asked_for(day: tuple[Path, Day]) -> None:
    directory, made = day
    sizes = [len(lines) for _, lines in feeds(directory)]
    assert sum(sizes) == 6_000
    assert sizes == list(made.records.values())
    assert min(sizes) > 1_000


def test_every_kind_of_anomaly_is_there_and_the_counts_add_up(day: tuple[Path, Day]) -> None:
    directory, made = day
    documents, kinds = linked(directory)
    assert kinds["MALFORMED"] == made.malformed > 0
    assert kinds["UNKNOWN_INSTRUMENT"] == made.unknown_instrument > 0
    assert kinds["UNKNOWN_ACCOUNT"] == made.unknown_account > 0
    assert kinds["DUPLICATE"] == made.duplicate > 0
    for kind in ("OVERFILL", "CLOSED_ORDER", "ORPHAN"):
        assert kinds[kind] > 0, kind
    ends = ("MALFORMED", "UNKNOWN_INSTRUMENT", "DUPLICATE", "CLOSED_ORDER", "ORPHAN")
    assert documents + sum(kinds[kind] for kind in ends) == 6_000


def test_the_same_seed_gives_the_same_files(day: tuple[Path, Day], tmp_path: Path) -> None:
    directory, made = day
    assert generate(tmp_path, events=6_000, seed=5) == made
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (directory / name).read_bytes()


def test_another_seed_gives_another_day(day: tuple[Path, Day], tmp_path: Path) -> None:
    generate(tmp_path, events=6_000, seed=6)
    for name in FEEDS:
        assert (tmp_path / name).read_bytes() != (day[0] / name).read_bytes()


@pytest.mark.parametrize("bound_ms", [0, 250, 5_000])
def test_no_feed_is_further_out_of_order_than_the_bound(bound_ms: int, tmp_path: Path) -> None:
    generate(tmp_path, events=6_000, seed=8, out_of_orderness_ms=bound_ms)
    for decode, lines in feeds(tmp_path):
        greatest_ms, furthest_ms = 0, 0
        for line in lines:
            try:
                time_ms = decode(line).event_time_ms
            except DecodeError:
                continue
            furthest_ms = max(furthest_ms, greatest_ms - time_ms)
            greatest_ms = max(greatest_ms, time_ms)
        assert furthest_ms <= bound_ms
        assert furthest_ms > bound_ms // 4 or bound_ms == 0


def test_every_way_a_record_goes_bad_makes_it_malformed(tmp_path: Path) -> None:
    made = generate(tmp_path, events=4_000, seed=9, rates=Rates(malformed=0.5))
    assert made.malformed == 2_000
    assert linked(tmp_path)[1]["MALFORMED"] == 2_000


def test_without_rates_nothing_goes_wrong_but_what_the_market_does(tmp_path: Path) -> None:
    none = Rates(0, 0, 0, 0, 0, 0, 0, 0, 0)
    generate(tmp_path, events=4_000, seed=10, rates=none)
    documents, kinds = linked(tmp_path)
    assert set(kinds) <= {"CLOSED_ORDER", "OVERFILL"}
    assert documents + kinds["CLOSED_ORDER"] == 4_000


@pytest.mark.parametrize("events", [0, 1, 2, 7])
def test_small_days(events: int, tmp_path: Path) -> None:
    assert sum(generate(tmp_path, events=events, seed=1).records.values()) == events


def test_what_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="leave no event"):
        generate(Path(), events=10, rates=Rates(malformed=1.0))
    with pytest.raises(ValueError, match="below 0"):
        generate(Path(), events=-1)
