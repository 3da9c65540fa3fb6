"""The ids of sources, sinks and operators with state, from what they compute and from their
input."""

from __future__ import annotations

from collections.abc import Callable

from headrace.common.changelog_mode import ChangelogMode
from headrace.runtime.layout import SQL_UIDS
from headrace.sql.fingerprint import Fingerprints, digest
from headrace.sql.rel import Rel, Scan


class OperatorIds:
    """Makes ids that stay the same if a statement changes elsewhere.

    ``locator``: what a table reads; ``mode``: its row kinds. Operators that compute the same are
    numbered.
    """

    def __init__(
        self,
        locator: Callable[[Scan], str],
        mode: Callable[[Scan], ChangelogMode],
        time_zone: str,
    ) -> None:
        self._locator = locator
        self._mode = mode
        self._fingerprints = Fingerprints(self._describe_scan, time_zone)
        self._counts: dict[str, int] = {}
        """How many operators each id was computed for."""

    def of(self, rel: Rel, *more: str) -> str:
        """Return the id of the operator of a relation; ``more``: what else it depends on."""
        text = "\n".join((self._fingerprints.operator(rel), *more))
        return self._id(type(rel).__name__.lower(), text)

    def of_rows(self, rel: Rel, kind: str, *more: str) -> str:
        """Return the id of an operator that takes the rows of a relation.

        ``more``: what else it depends on.
        """
        return self._id(kind, "\n".join((self._fingerprints.rows(rel), *more)))

    def of_source(self, scan: Scan) -> str:
        """Return the id of the source of a table."""
        return self._id("source", f"{scan.table[-1]} {self._describe_scan(scan)}")

    def of_sink(self, target: str) -> str:
        """Return the id of a sink, from the table that it writes."""
        return self._id("sink", target)

    def _describe_scan(self, scan: Scan) -> str:
        return f"{self._locator(scan)} {self._mode(scan)}"

    def _id(self, kind: str, text: str) -> str:
        found = f"{SQL_UIDS}{kind}-{digest(text)[:16]}"
        count = self._counts[found] = self._counts.get(found, 0) + 1
        return found if count == 1 else f"{found}-{count}"
