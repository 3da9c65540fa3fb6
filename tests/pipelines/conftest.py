"""What holds for all programs here."""

from __future__ import annotations

import pytest

from headrace.operators import reduce


@pytest.fixture(autouse=True)
def few_records_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs here are cut into small pieces, of which some are to be reduced as columns."""
    monkeypatch.setattr(reduce, "MIN_COLUMN_RECORDS", 4)
