"""Values of homes against the same files read with the standard library alone."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import real_estate
from headrace.testing import run_pipeline
from tests.examples.printed import run_locally, shown_output

Reported = tuple[str, float, int]
"""District, square metres, euros."""


def sales_in(folder: Path) -> tuple[dict[tuple[str, str], Reported], list[bytes]]:
    """What was paid, by parcel and day, and the lines of the agency that say nothing."""
    sales: dict[tuple[str, str], Reported] = {}
    unread: list[bytes] = []
    for raw in (folder / "agency.jsonl").read_bytes().splitlines():
        try:
            sale = json.loads(raw)
        except ValueError:
            unread.append(raw)
            continue
        where = sale["where"]
        paid = where["district"], float(sale["area"]["m2"]), sale["cents"] // 100
        sales[where["parcel"], sale["sold"]] = paid
    with (folder / "notary.csv").open() as lines:
        for row in csv.DictReader(lines, delimiter=";"):
            paid = row["district"], float(row["m2"]), int(row["euros"])
            sales[row["parcel"], row["day"]] = paid
    for line in (folder / "register.txt").read_text().splitlines():
        day = f"{line[32:36]}-{line[36:38]}-{line[38:40]}"
        paid = line[7:17].strip(), int(line[17:23]) / 10, int(line[23:32])
        sales[line[:7], day] = paid
    return sales, unread


def value_of(home: dict[str, Any], sales: dict[tuple[str, str], Reported]) -> int | None:
    near = sorted(
        (abs(m2 - home["m2"]), parcel, euros / m2)
        for (parcel, day), (district, m2, euros) in sales.items()
        if day >= "2025-11-20"
        and district == home["district"]
        and abs(m2 - home["m2"]) <= home["m2"] / 4
    )[:5]
    if len(near) < 3:
        return None
    return round(statistics.median(per_m2 for *_, per_m2 in near) * home["m2"] / 1_000) * 1_000


@pytest.mark.parametrize("how", [{}, {"parallelism": 2, "key_groups": 8}], ids=["one", "two"])
def test_values(how: dict[str, Any], tmp_path: Path) -> None:
    real_estate.write_input(tmp_path)

    def program(env: Any) -> Any:
        valued, districts, bad = real_estate.valuation(env, tmp_path)
        return {"valued": valued, "districts": districts, "bad": bad}

    results = run_pipeline(program, "batch", **how)
    sales, unread = sales_in(tmp_path)
    homes = [json.loads(line) for line in (tmp_path / "homes.jsonl").open()]

    values = {home["home"]: home["euros"] for home in results["valued"]}
    assert values == {home["home"]: value_of(home, sales) for home in homes}
    assert None in values.values()

    assert len(unread) == 3
    assert sorted(bad.raw for bad in results["bad"]) == sorted(unread)
    whole = (tmp_path / "agency.jsonl").read_bytes()
    for bad in results["bad"]:
        assert whole[bad.position :].startswith(bad.raw + b"\n")

    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0])
    for home in homes:
        value, total = values[home["home"]], totals[home["district"]]
        total[0] += 1
        if value is not None:
            total[1:] = [total[1] + 1, total[2] + home["m2"], total[3] + value]
    assert {district: list(rest) for district, *rest in results["districts"]} == totals


def test_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_locally("real_estate", monkeypatch, tmp_path)
    assert capsys.readouterr().out == shown_output("real_estate")
