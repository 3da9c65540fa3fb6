"""The values between the parts of the job: events and anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Kind = Literal["NEW", "REPLACE", "CANCEL", "EXECUTION", "BUST", "REJECT"]
Side = Literal["BUY", "SELL"]
AnomalyKind = Literal[
    "MALFORMED",
    "UNKNOWN_INSTRUMENT",
    "UNKNOWN_ACCOUNT",
    "DUPLICATE",
    "OVERFILL",
    "CLOSED_ORDER",
    "ORPHAN",
    "LATE",
]


@dataclass(frozen=True, slots=True)
class DecodedEvent:
    """One message of a trading system, before symbol and account are looked up.

    ``order_id`` is the order that the event concerns: of a replace the new id, of a cancel the
    cancelled order (not the request), of a bust any value, possibly none. ``exec_id`` of a bust is
    the cancelled execution. ``quantity`` and ``price`` are the order's for a new and a replace, the
    executed ones for an execution, and otherwise null.
    """

    system: str
    sequence: int
    kind: Kind
    event_time_ms: int
    order_id: str | None
    replaces: str | None
    parent_order_id: str | None
    exec_id: str | None
    symbol: str
    side: Side | None
    quantity: Decimal | None
    price: Decimal | None
    account: str | None

    @property
    def event_id(self) -> str:
        """``SYSTEM:sequence``, unique in the firm."""
        return f"{self.system}:{self.sequence}"


@dataclass(frozen=True, slots=True)
class NormalisedEvent:
    """One normalised event, independent of its system.

    The fields have the same meaning as in ``DecodedEvent``; ``client`` and ``desk`` are null if the
    account is not listed, or the kind has no account.
    """

    event_id: str
    system: str
    sequence: int
    kind: Kind
    event_time_ms: int
    order_id: str | None
    replaces: str | None
    parent_order_id: str | None
    exec_id: str | None
    instrument_id: str
    currency: str
    side: Side | None
    quantity: Decimal | None
    price: Decimal | None
    account: str | None
    client: str | None
    desk: str | None

    @property
    def turn(self) -> tuple[int, str, int]:
        """The sort key by which the events of an instrument are applied."""
        return (self.event_time_ms, self.system, self.sequence)

    def __reduce__(self) -> tuple[object, ...]:
        # The generated unpickling of a frozen class with slots sets each field with
        # object.__setattr__. This is faster, and thousands of events wait in state.
        return (
            NormalisedEvent,
            (
                self.event_id,
                self.system,
                self.sequence,
                self.kind,
                self.event_time_ms,
                self.order_id,
                self.replaces,
                self.parent_order_id,
                self.exec_id,
                self.instrument_id,
                self.currency,
                self.side,
                self.quantity,
                self.price,
                self.account,
                self.client,
                self.desk,
            ),
        )


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A problem with a record, for a person to look at.

    It is identified by ``event_id``, or, if that is unknown, by ``source`` and ``position``.
    """

    kind: AnomalyKind
    event_id: str | None = None
    source: str | None = None
    position: int | None = None
    reason: str = ""
    raw: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the line of ``anomalies.jsonl`` as a dictionary.

        Bytes that are not UTF-8 are escaped.
        """
        raw = None if self.raw is None else self.raw.decode("utf-8", "backslashreplace")
        return {
            "kind": self.kind,
            "event_id": self.event_id,
            "source": self.source,
            "position": self.position,
            "reason": self.reason,
            "raw": raw,
        }
