"""Runs a statement with GROUP BY and says when its first row came, from the start of this process.

Option ``since``: when the process was started.
"""

from __future__ import annotations

import json
import time

from bench.peers.protocol import options
from bench.sql import program

STATEMENT = """
    SELECT customer, COUNT(*) AS orders, SUM(amount) AS amount
    FROM (VALUES ('ann', 3), ('bob', 5), ('ann', 4)) AS t(customer, amount)
    GROUP BY customer
"""


def main() -> None:
    made = program.environment("headrace", {"execution.target": "local"})
    called = time.time()
    with made.execute_sql(STATEMENT).collect() as rows:
        found = next(rows)
        first = time.time()
    if [*found] != ["ann", 1, 3]:
        raise SystemExit(f"a wrong row: {found}")
    values = {
        "first_row_seconds": first - float(options()["since"]),
        "from_execute_seconds": first - called,
        "processor_seconds": time.process_time(),
    }
    print("\n" + json.dumps(values))


if __name__ == "__main__":
    main()
