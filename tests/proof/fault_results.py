"""What a job of ``fault_table`` has written, compared with plain Python."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.connectors.topic import content
from tests.proof.fault_job import SINKS, TRANSACTION_TIMEOUT_MS, expected
from tests.proof.kafka import open_transaction


@dataclass(frozen=True)
class Written:
    """What is in the files of a folder, or in topics: ``place`` has servers and topics."""

    folder: Path
    place: Mapping[str, str]

    def lines(self, sink: str) -> list[str]:
        """What a sink has published; of a topic, partition by partition and in order."""
        if "servers" in self.place:
            messages = content(self.place["servers"], self.place[sink])
            return [message.value().decode() for message in messages]
        files = [path for path in (self.folder / "out" / sink).rglob("part-*") if path.is_file()]
        return [line for path in files for line in path.read_text().splitlines()]

    def difference(self, given: Iterable[str]) -> str:
        """What differs from the results of the lines that were given; nothing, if nothing does."""
        wanted = expected(given)
        for sink in SINKS:
            written = self.lines(sink)
            found = Counter(written)
            if found != wanted[sink]:
                missing, more = wanted[sink] - found, found - wanted[sink]
                return (
                    f"{sink}: {missing.total()} of {wanted[sink].total()} missing"
                    f" {[*missing][:3]}, {more.total()} too many {[*more][:3]}"
                )
            if "servers" in self.place:
                if sink == "totals" and (account := _out_of_order(written)):
                    return f"{sink}: account {account} is out of order"
                if opened := self._open_transaction(sink):
                    return f"{sink}: {opened}"
        return ""

    def _open_transaction(self, sink: str) -> str:
        """A transaction that stays open for longer than its timeout."""
        until = time.monotonic() + 2 * TRANSACTION_TIMEOUT_MS / 1000
        while opened := open_transaction(self.place["servers"], self.place[sink]):
            if time.monotonic() > until:
                return opened
            time.sleep(1.0)
        return ""


def difference_after_savepoint(written: Written, given: Iterable[str]) -> str:
    """What is wrong with what a job has written that began from a savepoint.

    It is all that comes after the savepoint, each once: of each account the last records.
    """
    wanted = expected(given)
    later = {sink: Counter(written.lines(sink)) for sink in SINKS}
    more = [line for sink in SINKS for line in later[sink] - wanted[sink]]
    if more:
        return f"from the savepoint: {len(more)} too many {more[:3]}"
    first: dict[str, int] = {}
    for account, count in _accounts(later["totals"]):
        first[account] = min(count, first.get(account, count))
    missing = [
        line
        for line, (account, count) in zip(
            wanted["totals"], _accounts(wanted["totals"]), strict=True
        )
        if account in first and count >= first[account] and line not in later["totals"]
    ]
    if missing:
        return f"from the savepoint: {len(missing)} missing {missing[:3]}"
    return "" if first else "from the savepoint came nothing"


def _accounts(totals: Iterable[str]) -> list[tuple[str, int]]:
    return [(line.split()[0], int(line.split()[1])) for line in totals]


def _out_of_order(totals: Sequence[str]) -> str:
    """An account whose records are not in their order."""
    last: dict[str, int] = {}
    for account, count in _accounts(totals):
        if count != last.get(account, 0) + 1:
            return account
        last[account] = count
    return ""
