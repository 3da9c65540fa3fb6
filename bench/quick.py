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


def ratios(measured: layers.Layers) -> dict[str, float]:
    """Each layer's price in plain loops."""
    plain = measured["plain loop"]
    left_out = ("plain loop", *layers.SMALL)
    return {layer: took / plain for layer, took in measured.items() if layer not in left_out}


def lost(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """The layers that cost a fifth more than they did."""
    return [layer for layer, ratio in now.items() if ratio > before[layer] * LOSS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="commit what is measured now")
    chosen = parser.parse_args()
    if chosen.write:
        found = [ratios(layers.measure()) for _ in range(TRIES)]
        least = {layer: round(min(run[layer] for run in found), 3) for layer in found[0]}
        BASELINE.write_text(json.dumps(least, indent=1) + "\n")
        print(BASELINE.read_text())
        return
    before = json.loads(BASELINE.read_text())
    best: dict[str, float] = {}
    slower: list[str] = []
    for _ in range(TRIES):
        measured = layers.measure()
        print(layers.table(measured, before), end="\n\n")
        now = ratios(measured)
        best = {layer: min(ratio, best.get(layer, ratio)) for layer, ratio in now.items()}
        slower = lost(best, before)
        if not slower:
            return
    sys.exit(f"slower than a fifth above bench/layers.json, {TRIES} times: {', '.join(slower)}")


if __name__ == "__main__":
    main()
