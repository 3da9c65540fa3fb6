"""Watermarks and what tasks keep, once per operator."""

from __future__ import annotations

from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.savepoint.header import (
    export_headers,
    import_header,
    map_channels,
)
from headrace.runtime.savepoint.records import decode
from tests.unit.runtime.programs import channel

NODE = (None, 30, False, None)


def header(**fields: Any) -> dict[str, Any]:
    return {
        "channels": {channel("0:a"): (50, False), channel("9:b"): (40, True)},
        "watermark": 50,
        "now": 7,
        "nodes": {3: NODE, "named": "text"},
        **fields,
    }


def test_a_header_comes_back_whatever_its_channels_and_nodes_are() -> None:
    assert import_header(*export_headers("o", [header()] * 5)) == header()
    assert import_header(*export_headers("o", [{}, {}])) == {}
    assert import_header([], [], [channel("0")]) == {}


def test_groups_that_disagree_hold_nothing_back_too_early() -> None:
    groups = [
        header(finished=True, more=1),
        {},
        header(
            channels={channel("0:a"): (45, True), channel("9:b"): (60, True)},
            watermark=45,
            now=9,
            nodes={3: (None, 20, False, None)},
            more=2,
        ),
    ]
    assert import_header(*export_headers("o", groups)) == {
        "channels": {channel("0:a"): (45, False), channel("9:b"): (40, True)},
        "watermark": 45,
        "now": 9,
        "finished": False,
        "nodes": {3: (None, 20, False, None), "named": "text"},
        "more": 1,
    }
    watermarks, _ = export_headers("o", groups)
    stored = {
        record.channel and decode(record.channel): record.watermark_ms for record in watermarks
    }
    assert stored == {channel("0:a"): 45, channel("9:b"): 40, None: 45}


def test_what_an_input_has_reached_is_the_least_of_all_groups() -> None:
    headers = [{"watermark": 5, "inputs": (9, 5)}, {}, {"watermark": 5, "inputs": (5, 7)}]
    restored = import_header(*export_headers("a", headers))
    assert restored["inputs"] == (5, 5)


def test_channels_of_key_groups_that_are_others_now() -> None:
    before = {
        channel("0:a"): (9, False),
        channel("3@0"): (50, False),
        channel("3@1"): (40, False),
        channel("3@2"): (MIN_WATERMARK, True),
    }
    same = [channel("3@0"), channel("3@1"), channel("3@2")]
    assert map_channels(before, same) == before
    assert map_channels(before, [channel("3@0"), channel("3@1"), channel("4")]) == {
        channel("0:a"): (9, False),
        channel("3@0"): (MIN_WATERMARK, False),
        channel("3@1"): (MIN_WATERMARK, False),
        channel("4"): (MIN_WATERMARK, False),
    }
    unspoken = dict.fromkeys(same, (MIN_WATERMARK, False))
    assert map_channels(unspoken, [channel("3@0")]) == {channel("3@0"): (MIN_WATERMARK, False)}
    ended = dict.fromkeys(same, (MAX_WATERMARK, False))
    assert map_channels(ended, [channel("3@0")]) == {channel("3@0"): (MAX_WATERMARK, False)}
