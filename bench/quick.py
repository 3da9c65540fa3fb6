"""``make bench-quick``: the layers against the committed ones; fails on a loss of a fifth.

What is compared are ratios to plain Python in the same run, which does the job in a loop, or
pickles the same records: the least that a layer took in any try, to the least of plain Python. What
seems slower is measured again before it counts.
``--write`` commits new figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from bench import layers, report

BASELINE = Path(__file__).parent / "layers.json"
LOSS = 1.2
TRIES = 3
LOOP, STAGE = "plain loop", "stage in pages"
MEASURES = {"encode": "plain dumps", "decode": "plain loads"}
"""What a layer is compared with in plain Python, if not with the loop."""

MANY_BATCHES = 4

Ratios = dict[str, float]
"""To plain Python, by layer."""


def measure() -> layers.Layers:
    """Microseconds per record in each layer that is guarded, and in plain Python."""
    few_keys, many_keys = layers.KEYS
    few = layers.measure(few_keys)
    many = layers.measure(many_keys, MANY_BATCHES)
    found = {layer: took for layer, took in few.items() if layer not in layers.SMALL}
    return {**found, f"{STAGE}, {many_keys:,} keys": many[STAGE]}


def least(tries: Iterable[layers.Layers]) -> layers.Layers:
    """The least that each took in any try."""
    found: layers.Layers = {}
    for each in tries:
        for layer, took in each.items():
            found[layer] = min(took, found.get(layer, took))
    return found


def ratios(took: layers.Layers) -> Ratios:
    """Each layer's price, as a multiple of what plain Python takes."""
    return {
        layer: us / took[MEASURES.get(layer, LOOP)]
        for layer, us in took.items()
        if layer not in layers.PLAIN
    }


def lost(now: Ratios, before: Ratios) -> list[str]:
    """The layers that cost a fifth more than they did."""
    return [layer for layer, ratio in now.items() if ratio > before[layer] * LOSS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="commit what is measured now")
    chosen = parser.parse_args()
    if chosen.write:
        now = ratios(least(measure() for _ in range(TRIES)))
        BASELINE.write_text(json.dumps({k: round(v, 3) for k, v in now.items()}, indent=1) + "\n")
        print(BASELINE.read_text())
        return
    before = json.loads(BASELINE.read_text())
    tries: list[layers.Layers] = []
    slower: list[str] = []
    for _ in range(TRIES):
        tries.append(measure())
        took = least(tries)
        print(table(took, before), end="\n\n")
        slower = lost(ratios(took), before)
        if not slower:
            return
    sys.exit(f"slower than a fifth above bench/layers.json, {TRIES} times: {', '.join(slower)}")


def table(took: layers.Layers, before: Ratios) -> str:
    """The layers as a Markdown table."""
    now = ratios(took)
    rows = [
        [layer, f"{us:.2f}", f"{now.get(layer, 1):.2f}", f"{before.get(layer, 1):.2f}"]
        for layer, us in took.items()
    ]
    return report.table(["layer", "us/record", "to plain Python", "committed"], rows)


if __name__ == "__main__":
    main()
