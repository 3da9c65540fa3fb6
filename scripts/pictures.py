"""Draws the pictures of windows, joins and the architecture: docs/images/*.svg.

    python scripts/pictures.py           draw all
    python scripts/pictures.py --check   say which are out of date; exits 1 if any is

Each picture has a ground of its own, so it is readable on a light and on a dark page; where the
reader's system is dark, the ground is dark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

IMAGES = ROOT / "docs" / "images"

_STYLE = """\
svg{--ground:#fff;--ink:#24313a;--faint:#6b7c88;--blue:#1667b7;--orange:#c2570c}
@media(prefers-color-scheme:dark){
svg{--ground:#1e2129;--ink:#e4e7ec;--faint:#98a4b0;--blue:#6cb6ff;--orange:#ffb36b}}
text{fill:var(--ink);font:13px sans-serif}.small{font-size:12px;fill:var(--faint)}
.ground{fill:var(--ground)}.blue{fill:var(--blue)}.orange{fill:var(--orange)}
.window{fill:var(--blue);fill-opacity:.13;stroke:var(--blue)}
.rest{fill:none;stroke:var(--blue);stroke-dasharray:4 3}
.other{fill:var(--orange);fill-opacity:.13;stroke:var(--orange)}
.line{fill:none;stroke:var(--faint)}.pair{fill:none;stroke:var(--ink);stroke-width:1.5}
.head{fill:var(--faint)}"""

_WIDTH, _LEFT, _SECOND = 640, 76, 18
_LAST = 30


class Picture:
    """An SVG of a given height, with places in pixels; ``title`` is what a screen reader says."""

    def __init__(self, title: str, height: int) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="ground" width="{_WIDTH}" height="{height}" rx="6"/>',
            '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
            ' markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker>',
        ]

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> None:
        """Words whose baseline is at ``y``."""
        style = f' class="{kind}"' if kind else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style}>{words}</text>'
        )

    def dot(self, x: float, y: float, kind: str = "blue") -> None:
        """A record."""
        self._parts.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="5"/>')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "window") -> None:
        """A rectangle with its upper left corner at a place."""
        self._parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}"'
            f' width="{width:g}" height="{height:g}" rx="5"/>'
        )

    def path(self, way: str, kind: str = "line", *, arrow: bool = False) -> None:
        """A line, in SVG's words for paths."""
        head = ' marker-end="url(#head)"' if arrow else ""
        self._parts.append(f'<path class="{kind}" d="{way}"{head}/>')

    def labelled(
        self, x: float, y: float, width: float, height: float, lines: Sequence[str], kind: str
    ) -> None:
        """A box with lines of text in its middle; the first one is its name."""
        self.box(x, y, width, height, kind)
        top = y + height / 2 - 8 * (len(lines) - 1) + 4
        for at, line in enumerate(lines):
            self.text(x + width / 2, top + 16 * at, line, "small" if at else "")

    def axis(self, y: float) -> None:
        """The time axis, in seconds."""
        self.path(f"M{_LEFT} {y:g}H{_x(_LAST) + 8:g}", arrow=True)
        for at in range(0, _LAST + 1, 5):
            self.path(f"M{_x(at):g} {y:g}v5")
            self.text(_x(at), y + 19, f"{at} s", "small")

    def lane(self, y: float, name: str) -> None:
        """The name of a key, or of a stream, before its records."""
        self.text(_LEFT - 14, y + 4, name, anchor="end")

    def svg(self) -> str:
        """The file's text."""
        return "\n".join([*self._parts, "</svg>\n"])


def _x(seconds: float) -> float:
    return _LEFT + seconds * _SECOND


def _spans(picture: Picture, y: float, spans: Sequence[tuple[float, float]]) -> None:
    for start, end in spans:
        picture.box(_x(start) + 1, y - 15, (end - start) * _SECOND - 2, 30)


def tumbling() -> Picture:
    """Windows of ten seconds, by key."""
    picture = Picture("Tumbling windows of 10 seconds, for two keys", 150)
    for y, name, records in ((35, "ann", (1, 4, 9, 12, 22, 24)), (80, "bob", (3, 16, 18))):
        picture.lane(y, name)
        starts = dict.fromkeys(at // 10 * 10 for at in records)
        _spans(picture, y, [(start, start + 10) for start in starts])
        for at in records:
            picture.dot(_x(at), y)
    picture.axis(115)
    return picture


def sliding() -> Picture:
    """Windows of ten seconds, every five seconds, with the records that each has."""
    picture = Picture("Sliding windows of 10 seconds, one begins every 5 seconds", 195)
    records = (6, 8, 12, 21)
    picture.lane(30, "ann")
    for at in records:
        picture.dot(_x(at), 30)
        picture.path(f"M{_x(at):g} 38V150")
    picture.text(_LEFT - 14, 88, "windows", "small", "end")
    picture.text(_LEFT - 14, 104, "of ann", "small", "end")
    for y, starts in ((75, (0, 10, 20)), (120, (5, 15))):
        _spans(picture, y, [(start, start + 10) for start in starts])
        for start in starts:
            for at in records:
                if start <= at < start + 10:
                    picture.dot(_x(at), y)
    picture.axis(160)
    return picture


def session() -> Picture:
    """Sessions with a gap of six seconds; the gap after the last record is dashed."""
    gap = 6
    picture = Picture("Session windows with a gap of 6 seconds, for two keys", 150)
    sessions = {"ann": ((1, 4, 8), (17, 20)), "bob": ((6, 11),)}
    for y, (name, groups) in zip((35, 80), sessions.items(), strict=True):
        picture.lane(y, name)
        for records in groups:
            first, last = records[0], records[-1]
            picture.box(_x(first) - 9, y - 15, (last - first) * _SECOND + 18, 30)
            picture.box(_x(last) + 9, y - 15, gap * _SECOND - 9, 30, "rest")
            picture.text(_x(last + gap / 2) + 5, y + 4, "gap", "small")
            for at in records:
                picture.dot(_x(at), y)
    picture.axis(115)
    return picture


def count() -> Picture:
    """Windows of three records; the last one waits for more."""
    picture = Picture("Count windows of 3 records, for two keys", 150)
    records = {"ann": (1, 4, 9, 12, 14, 22, 24), "bob": (3, 16, 18)}
    for y, (name, times) in zip((35, 80), records.items(), strict=True):
        picture.lane(y, name)
        for first in range(0, len(times), 3):
            group = times[first : first + 3]
            full = len(group) == 3
            end = _x(group[-1]) + 9 if full else _x(_LAST)
            start = _x(group[0]) - 9
            picture.box(start, y - 15, end - start, 30, "window" if full else "rest")
            if not full:
                picture.text(_x(27), y + 4, "not full yet", "small")
        for at in times:
            picture.dot(_x(at), y)
    picture.axis(115)
    return picture


def global_() -> Picture:
    """One window for a key, which never ends, and fires with every third record."""
    picture = Picture("A global window with a trigger that fires at every third record", 135)
    times = (1, 4, 9, 12, 14, 22, 24)
    picture.lane(35, "ann")
    picture.path(f"M{_x(_LAST):g} 20H{_LEFT}V50H{_x(_LAST):g}", "window")
    for number, at in enumerate(times, 1):
        picture.dot(_x(at), 35)
        if number % 3 == 0:
            picture.path(f"M{_x(at):g} 50V72", arrow=True)
            picture.text(_x(at) + 8, 70, f"fires: {number} records", "small", "start")
    picture.axis(100)
    return picture


_LEFT_RECORDS, _RIGHT_RECORDS = (2, 6, 14, 23), (4, 8, 17)


def _two_streams(picture: Picture, left: Sequence[float], right: Sequence[float]) -> None:
    for y, name, records, kind in ((35, "left", left, "blue"), (105, "right", right, "orange")):
        picture.lane(y, name)
        for number, at in enumerate(records, 1):
            picture.dot(_x(at), y, kind)
            above = y - 12 if y < 70 else y + 22
            picture.text(_x(at), above, f"{name[0]}{number}", "small")


def _windows_of_both(picture: Picture, starts: Sequence[int]) -> None:
    for start in starts:
        picture.box(_x(start) + 1, 8, 10 * _SECOND - 2, 128)


def window_join() -> Picture:
    """Each pair of one window."""
    picture = Picture("A window join: each pair of records of one key and one window", 180)
    _windows_of_both(picture, (0, 10, 20))
    for left in _LEFT_RECORDS:
        for right in _RIGHT_RECORDS:
            if left // 10 == right // 10:
                picture.path(f"M{_x(left):g} 35L{_x(right):g} 105", "pair")
    _two_streams(picture, _LEFT_RECORDS, _RIGHT_RECORDS)
    picture.axis(146)
    return picture


def co_group() -> Picture:
    """One call for each window, with two groups."""
    picture = Picture("coGroup: one call for each key and window, with two groups", 210)
    _windows_of_both(picture, (0, 10, 20))
    _two_streams(picture, _LEFT_RECORDS, _RIGHT_RECORDS)
    for start, groups in ((0, "[l1, l2], [r1, r2]"), (10, "[l3], [r3]"), (20, "[l4], []")):
        picture.path(f"M{_x(start + 5):g} 137V152", arrow=True)
        picture.text(_x(start + 5), 167, groups)
    picture.text(_LEFT - 14, 167, "call", "small", "end")
    picture.axis(178)
    return picture


def interval_join() -> Picture:
    """Right records from two seconds before to five seconds after a left one."""
    picture = Picture("An interval join, from 2 seconds before to 5 seconds after", 180)
    lefts, rights = (5, 15), (1, 4, 8, 12, 18, 24)
    for left in lefts:
        low, high = _x(left - 2), _x(left + 5)
        picture.path(f"M{_x(left):g} 35L{low:g} 105H{high:g}Z", "window")
        for right in rights:
            if left - 2 <= right <= left + 5:
                picture.path(f"M{_x(left):g} 35L{_x(right):g} 105", "pair")
    _two_streams(picture, lefts, rights)
    picture.axis(146)
    return picture


def as_of_join() -> Picture:
    """The latest right record at the time of each left one, within a tolerance."""
    tolerance = 5
    picture = Picture("An as-of join backward, with a tolerance of 5 seconds", 180)
    lefts, rights = (4, 11, 14, 26), (2, 8, 13, 19)
    for left in lefts:
        right = max(each for each in rights if each <= left)
        if left - right <= tolerance:
            picture.path(f"M{_x(left):g} 35L{_x(right):g} 105", "pair")
        else:
            picture.text(_x(left) + 10, 39, "none", "small", "start")
    for at in rights:
        picture.box(_x(at), 97, tolerance * _SECOND, 16, "other")
    _two_streams(picture, lefts, rights)
    picture.axis(146)
    return picture


def connect() -> Picture:
    """Records of both streams with one key meet in one task."""
    picture = Picture("Connected streams: records of one key meet, with state and timers", 190)
    picture.labelled(16, 24, 130, 44, ("orders", "by their key"), "window")
    picture.labelled(16, 118, 130, 44, ("payments", "by their key"), "other")
    picture.box(240, 14, 240, 160, "line")
    picture.labelled(254, 28, 212, 36, ("process_element1",), "window")
    picture.labelled(254, 76, 212, 36, ("state and timers of the key",), "line")
    picture.labelled(254, 124, 212, 36, ("process_element2",), "other")
    for y in (46, 140):
        picture.path(f"M146 {y}H252", arrow=True)
    picture.path("M480 94H530", arrow=True)
    picture.text(575, 98, "results")
    picture.text(200, 38, "key 7", "small")
    picture.text(200, 132, "key 7", "small")
    return picture


def broadcast() -> Picture:
    """Each rule goes to every task, each event to the task of its key."""
    picture = Picture("Broadcast state: each rule to every task, each event to one", 230)
    picture.labelled(16, 40, 120, 44, ("events", "by their key"), "window")
    picture.labelled(16, 146, 120, 44, ("rules", "to every task"), "other")
    for number, (top, keys) in enumerate(((14, "a, b"), (86, "c, d"), (158, "e, f")), 1):
        picture.box(330, top, 290, 58, "line")
        picture.text(340, top + 34, f"task {number}", "small", "start")
        picture.labelled(394, top + 8, 104, 42, ("state", f"keys {keys}"), "window")
        picture.labelled(508, top + 8, 104, 42, ("all rules", "a copy"), "other")
        picture.path(f"M136 168L328 {top + 38}", arrow=True)
        picture.path(f"M136 62L328 {top + 20}", arrow=True)
    picture.text(228, 30, "each event to one task", "small")
    picture.text(228, 206, "each rule to all tasks", "small")
    return picture


def architecture() -> Picture:
    """From a program to a runner, and one micro-batch from its offset to its commit."""
    picture = Picture(
        "A program becomes a plan; a micro-batch is planned, computed, committed", 372
    )
    for x, lines in (
        (16, ("program", "the API")),
        (146, ("graph", "what")),
        (276, ("plan", "in which tasks")),
    ):
        picture.labelled(x, 16, 104, 44, lines, "line")
        picture.path(f"M{x + 104} 38H{x + 128}", arrow=True)
    picture.labelled(
        406, 16, 218, 44, ("one of three runners", "Spark stream, Spark batch, local"), "line"
    )
    picture.text(16, 92, "One micro-batch on Spark", anchor="start")
    picture.labelled(
        16,
        106,
        290,
        50,
        ("coordinator, beside the driver", "how far to read, what time it is"),
        "other",
    )
    picture.labelled(
        334,
        106,
        290,
        50,
        ("committers, beside the driver", "publish what was written aside"),
        "other",
    )
    tasks = {
        16: ("source tasks", "read, decode,", "chain of operators"),
        178: ("keyed stage 1", "key groups: state,", "timers, chain"),
        340: ("keyed stage 2", "key groups: state,", "timers, chain"),
        502: ("sink tasks", "write aside"),
    }
    for x, about in tasks.items():
        picture.labelled(x, 200, 122, 66, about, "window")
    for x in (138, 300, 462):
        picture.path(f"M{x} 233H{x + 38}", arrow=True)
        picture.text(x + 20, 226, "blocks", "small")
    picture.path("M77 156V198", arrow=True)
    picture.text(84, 182, "ranges of splits", "small", "start")
    picture.path("M563 200V158", arrow=True)
    picture.text(556, 182, "what is to be published", "small", "end")
    picture.text(16, 302, "Its checkpoint", anchor="start")
    for x, lines in (
        (16, ("offsets", "written first")),
        (178, ("pages of state", "read and written by key group")),
        (502, ("splits, commits", "written last")),
    ):
        picture.labelled(x, 316, 284 if x == 178 else 122, 44, lines, "line")
    for x in (239, 401):
        picture.path(f"M{x} 266V314", arrow=True)
    return picture


PICTURES: dict[str, Callable[[], Picture]] = {
    "architecture": architecture,
    "join-as-of": as_of_join,
    "join-broadcast": broadcast,
    "join-co-group": co_group,
    "join-connect": connect,
    "join-interval": interval_join,
    "join-window": window_join,
    "window-count": count,
    "window-global": global_,
    "window-session": session,
    "window-sliding": sliding,
    "window-tumbling": tumbling,
}


def main(arguments: list[str]) -> int:
    """Draw or check the pictures."""
    drawn = {IMAGES / f"{name}.svg": draw().svg() for name, draw in PICTURES.items()}
    return write_or_check("pictures.py", drawn, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
