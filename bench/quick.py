"""``make bench-quick``: the layers against the committed ones; fails on a loss of a fifth.

What is compared are ratios to a loop of plain Python in the same run. A layer that seems slower is
measured again before it counts: what is lost is lost every time. ``--write`` commits new figures,
the least of as many tries.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench import layers

BASELINE = Path(__file__).parent / "layers.json"
LOSS = 1.2
TRIES = 3
STAGE = "stage in pages"
MANY_BATCHES = 4

Ratios = dict[str, float]
"""To a loop of plain Python in the same run, by layer."""


def measure(before: Ratios | None) -> Ratios:
    """Each layer's price in plain loops, and that of the stage with many keys; told on the way."""
    few_keys, many_keys = layers.KEYS
    few = layers.measure(few_keys)
    print(layers.table(few, before), end="\n\n")
    left_out = ("plain loop", *layers.SMALL)
    found = {name: took / few["plain loop"] for name, took in few.items() if name not in left_out}
    many = layers.measure(many_keys, MANY_BATCHES)
    name = f"{STAGE}, {many_keys:,} keys"
    found[name] = many[STAGE] / many["plain loop"]
    committed = "" if before is None else f", committed {before[name]:.2f}"
    print(f"{name}: {many[STAGE]:.2f} us, {found[name]:.2f} plain loops{committed}\n")
    return found


def lost(now: Ratios, before: Ratios) -> list[str]:
    """The layers that cost a fifth more than they did."""
    return [layer for layer, ratio in now.items() if ratio > before[layer] * LOSS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="commit what is measured now")
    chosen = parser.parse_args()
    if chosen.write:
        found = [measure(None) for _ in range(TRIES)]
        least = {layer: round(min(run[layer] for run in found), 3) for layer in found[0]}
        BASELINE.write_text(json.dumps(least, indent=1) + "\n")
        print(BASELINE.read_text())
        return
    before = json.loads(BASELINE.read_text())
    best: Ratios = {}
    slower: list[str] = []
    for _ in range(TRIES):
        now = measure(before)
        best = {layer: min(ratio, best.get(layer, ratio)) for layer, ratio in now.items()}
        slower = lost(best, before)
        if not slower:
            return
    sys.exit(f"slower than a fifth above bench/layers.json, {TRIES} times: {', '.join(slower)}")


if __name__ == "__main__":
    main()
