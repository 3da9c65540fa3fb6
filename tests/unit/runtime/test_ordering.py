"""The order of blocks as a function of values: who is read when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.block import Block
from headrace.runtime.block import Mark as RealMark
from headrace.runtime.ordering.batches import RECORDS_BETWEEN, merge_batch_blocks, with_watermarks
from headrace.runtime.ordering.run import Run
from headrace.runtime.ordering.streams import merge_senders, merge_stream_blocks
from headrace.runtime.watermarks import ChannelWatermarks
from tests.unit.runtime.programs import Mark, block, channel


def marks(*places: tuple[int, str, int]) -> list[RealMark]:
    return [Mark(*place) for place in places]


def read(blocks: Sequence[Block], senders: Sequence[int], **reached: int) -> list[Any]:
    """The records as texts, the marks as (channel, watermark)."""
    before = {channel(name): (watermark, False) for name, watermark in reached.items()}
    found: list[Any] = []
    for each in merge_stream_blocks(blocks, senders, before):
        if isinstance(each, Run):
            found.append("".join(map(str, each.values)))
        else:
            found.append((each.channel.exchange, each.watermark))
    return found


def test_two_senders_are_merged_by_what_their_channels_reached() -> None:
    one = block(*"abc", marks=marks((1, "x", 10), (2, "x", 30)))
    two = block(*"pqr", marks=marks((1, "y", 20), (2, "y", 40)))
    assert read([one, two], [1, 2]) == [
        "a",
        ("x", 10),
        "p",
        ("y", 20),
        "b",
        ("x", 30),
        "q",
        ("y", 40),
        "c",
        "r",
    ]


def test_without_marks_senders_are_read_in_turn() -> None:
    blocks = [block("a"), block("b"), block("c"), block("d")]
    assert read(blocks, [1, 1, 2, 3]) == ["a", "b", "c", "d"]


def test_a_channel_that_is_ahead_since_the_last_micro_batch_waits() -> None:
    blocks = [block("a", marks=marks((1, "x", 90))), block("b", marks=marks((1, "y", 20)))]
    assert read(blocks, [1, 2], x=50, y=10) == ["b", ("y", 20), "a", ("x", 90)]


def test_marks_without_records_come_first_in_the_order_of_senders() -> None:
    opening = block(marks=marks((0, "x", MIN_WATERMARK), (0, "y", MIN_WATERMARK)))
    one = block("a", marks=marks((0, "x", 5)))
    two = block(marks=marks((0, "y", 7)))
    assert read([opening, one, two], [0, 1, 2]) == [
        ("x", MIN_WATERMARK),
        ("y", MIN_WATERMARK),
        ("x", 5),
        ("y", 7),
        "a",
    ]


def test_a_split_that_two_tasks_read_keeps_its_order() -> None:
    """The second part's marks would make the first part's records late."""
    first = block(*"ab", channel_starts=((0, "x"),))
    second = block(*"cd", marks=marks((1, "x", 80)), channel_starts=((0, "x"),))
    other = block(*"pq", marks=marks((1, "y", 60)), channel_starts=((0, "y"),))
    assert read([first, second, other], [1, 2, 3]) == [
        "ab",
        "c",
        ("x", 80),
        "p",
        ("y", 60),
        "q",
        "d",
    ]


def test_a_sender_of_two_splits_waits_only_for_the_split_that_it_shares() -> None:
    one = block(
        *"abc", marks=marks((1, "x", 50), (3, "y", 40)), channel_starts=((0, "x"), (1, "y"))
    )
    two = block(*"pq", marks=marks((1, "y", 70)), channel_starts=((0, "y"),))
    assert read([one, two], [1, 2]) == ["a", ("x", 50), "bc", ("y", 40), "p", ("y", 70), "q"]


def test_a_stage_and_a_source_are_merged() -> None:
    source = block(*"ab", marks=marks((1, "x", 30)))
    stage = block(
        *"pqr", first_watermark_ms=10, marks=marks((1, "s", 20), (2, "s", 40)), merged_channel="s"
    )
    assert read([source, stage], [1, 2]) == [
        ("s", 10),
        "a",
        ("x", 30),
        "p",
        ("s", 20),
        "q",
        ("s", 40),
        "b",
        "r",
        ("s", 40),
    ]


def test_a_batch_is_read_by_time_and_ends_every_channel() -> None:
    blocks = [block(*"ab", stamps=[30, 10], marks=marks((1, "x", 10))), block("c", stamps=[None])]
    run, *ends = merge_batch_blocks(blocks, [channel("known")])
    assert isinstance(run, Run) and run.values == ["c", "b", "a"]
    assert ends == [Mark(0, "known", MAX_WATERMARK), Mark(0, "x", MAX_WATERMARK)]


def test_a_timed_batch_has_watermarks_between_timestamps() -> None:
    """None between equal timestamps, of whichever input, and none where there is no time."""
    many = 3 * RECORDS_BETWEEN
    steps = [*range(RECORDS_BETWEEN), *[1_000] * many, *range(2_000, 2_000 + many)]
    left = block(*steps, stamps=steps)
    right = block(*steps, stamps=steps)._replace(input=1)
    untimed = block("x", stamps=[None])
    order = [*merge_batch_blocks([untimed, left, right], [])]
    reads = [*with_watermarks(order)]
    latest, since, found = MIN_WATERMARK, 0, []
    for each in reads:
        if isinstance(each, int):
            found.append(each)
            assert since >= RECORDS_BETWEEN
            since = 0
        elif isinstance(each, Run):
            stamps = [MIN_WATERMARK if stamp is None else stamp for stamp in each.timestamps or ()]
            assert not found or stamps[0] > found[-1]
            latest, since = stamps[-1], since + len(stamps)
            assert since <= RECORDS_BETWEEN + 2 * many
    assert latest == steps[-1]
    assert found == [255, 999, 1_999, *range(2_255, 3_500, 256)]
    runs = [each for each in reads if isinstance(each, Run)]
    before = [each for each in order if isinstance(each, Run)]
    for field in ("values", "timestamps"):
        wanted = [item for run in before for item in getattr(run, field)]
        assert [item for run in runs for item in getattr(run, field)] == wanted


@st.composite
def sendings(draw: st.DrawFn) -> tuple[list[Block], list[int]]:
    """Splits, some of them read by two tasks; their marks rise from one task to the next."""
    blocks: list[Block] = []
    senders: list[int] = []
    high: dict[str, int] = {}
    for sender in range(draw(st.integers(1, 4))):
        for name in draw(st.lists(st.sampled_from("xyz"), max_size=3, unique=True)):
            count = draw(st.integers(0, 4))
            rises = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
            placed = []
            for position, rise in enumerate(rises):
                if rise:
                    high[name] = high.get(name, 0) + rise
                    placed.append(Mark(position + 1, name, high[name]))
            records = [(sender, name, len(blocks), at) for at in range(count)]
            channel_starts = ((0, name),)
            blocks.append(block(*records, marks=placed, channel_starts=channel_starts))
            senders.append(sender)
    return blocks, senders


@given(sendings())
def test_what_any_order_must_keep(sending: tuple[list[Block], list[int]]) -> None:
    """The order of a sender and of a channel; a record never comes before its own mark, nor after
    a later one of its channel."""
    blocks, senders = sending
    own: dict[Any, int] = {}  # the channel's watermark under which a record was sent
    for each in blocks:
        reached = {mark.position: mark.watermark for mark in each.marks}
        at = max(
            (own[record] for record in own if channel(record[1]) == each.channel_starts[0][1]),
            default=MIN_WATERMARK,
        )
        opened = each.channel_starts[0][1]
        for before in blocks[: blocks.index(each)]:
            at = max([at, *(m.watermark for m in before.marks if m.channel == opened)])
        for position, record in enumerate(each.values):
            at = max(at, reached.get(position, MIN_WATERMARK))
            own[record] = at
    watermarks = ChannelWatermarks({channel(c): (MIN_WATERMARK, False) for c in "xyz"})
    seen: list[Any] = []
    for step in merge_stream_blocks(blocks, senders, watermarks.state):
        if isinstance(step, RealMark):
            watermarks.update(step.channel, step.watermark)
        else:
            for record in step.values:
                assert watermarks.state[channel(record[1])][0] == own[record]
                seen.append(record)
    sent = [record for each in blocks for record in each.values]
    assert sorted(seen) == sorted(sent)
    for part in (0, 1):
        for name in {record[part] for record in sent}:
            assert [r for r in seen if r[part] == name] == [r for r in sent if r[part] == name]


def test_a_batch_of_two_inputs_is_merged_by_time_the_first_input_first() -> None:
    records = block(*"acd", stamps=[10, 30, 30])
    facts = block(*"qpr", stamps=[30, 10, None])._replace(input=1)
    runs = [
        ("".join(run.values), run.input)
        for run in merge_batch_blocks([facts, records], [])
        if isinstance(run, Run)
    ]
    assert runs == [("r", 1), ("a", 0), ("p", 1), ("cd", 0), ("q", 1)]


def test_without_time_a_batch_has_the_first_input_first() -> None:
    blocks = [block("p")._replace(input=1), block("a"), block("q")._replace(input=1), block("b")]
    runs = [run for run in merge_batch_blocks(blocks, []) if isinstance(run, Run)]
    assert [(run.values, run.input) for run in runs] == [(["a", "b"], 0), (["p", "q"], 1)]


def test_inputs_are_merged_by_watermark_however_the_input_is_cut() -> None:
    """What an input sends under a lower watermark is read first, in whichever micro-batch it is."""
    records = block(*"ab", marks=marks((1, "x", 20), (2, "x", 50)))
    facts = block(*"pq", marks=marks((1, "y", 30), (2, "y", 60)))._replace(input=1)
    whole = read([records, facts], [1, 2], x=0, y=0)
    assert whole == ["a", ("x", 20), "p", ("y", 30), "b", ("x", 50), "q", ("y", 60)]
    first = [
        block("a", marks=marks((1, "x", 20))),
        block("p", marks=marks((1, "y", 30)))._replace(input=1),
    ]
    rest = [
        block("b", marks=marks((1, "x", 50))),
        block("q", marks=marks((1, "y", 60)))._replace(input=1),
    ]
    cut = read(first, [1, 2], x=0, y=0) + read(rest, [1, 2], x=20, y=30)
    assert cut == whole


def test_runs_that_are_put_together_keep_their_input() -> None:
    sent = [
        block(value)._replace(merged_channel=channel("z"), first_watermark_ms=5, input=1)
        for value in "pq"
    ]
    runs = [run for run in merge_stream_blocks(sent, [1, 2], {}) if isinstance(run, Run)]
    assert [(run.values, run.input) for run in runs] == [(["p", "q"], 1)]


def test_one_lane_names_a_channel_once_where_it_begins_and_no_sender() -> None:
    split = block(*"abc", marks=marks((1, "x", 10), (2, "x", 20)))
    assert merge_senders([split], [1], {}).channel_starts == ((0, channel("x")),)
    assert merge_senders([block("p")], [1], {}).channel_starts == ()


def test_one_lane_has_the_order_of_a_stream_and_keeps_the_channels() -> None:
    one = block(*"abc", marks=marks((1, "x", 10), (2, "x", 30)))
    two = block(*"pqr", marks=marks((1, "y", 20), (2, "y", 40)), stamps=[1, 2, 3])
    lane = merge_senders([one, two], [1, 2], {})
    assert "".join(lane.values) == "apbqcr"
    assert lane.timestamps == [None, 1, None, 2, None, 3]
    merged = [(mark.position, mark.channel.exchange, mark.watermark) for mark in lane.marks]
    assert merged == [(1, "x", 10), (2, "y", 20), (3, "x", 30), (4, "y", 40)]
    channels = [(at, opened.exchange) for at, opened in lane.channel_starts]
    assert channels == [*enumerate("xyxyxy")]
    # merged with what others sent it is read as the blocks would be
    other = block("z", marks=marks((1, "w", 90)))
    assert "".join(
        text for text in read([lane, other], [-1, 1], w=15) if isinstance(text, str)
    ) == ("apbzqcr")
