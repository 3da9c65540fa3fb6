"""Charts as SVG, for the programs of this folder: bars and lines, in plain Python."""

import math
from html import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000"]
WIDTH, LEFT, RIGHT, TOP = 760, 120, 24, 48


def bars(title, values, number="{:,.0f}".format):
    """Horizontal bars from a dictionary of names and values, with each value at its bar."""
    most = max(values.values(), default=0) or 1
    shapes = [_text(LEFT, 26, title, size=16, weight="bold")]
    for row, (name, value) in enumerate(values.items()):
        y = TOP + row * 26
        length = max((WIDTH - LEFT - RIGHT - 80) * value / most, 0)
        shapes += [
            _text(LEFT - 8, y + 14, name, anchor="end"),
            f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="19" fill="{COLOURS[0]}"/>',
            _text(LEFT + length + 6, y + 14, number(value)),
        ]
    return _svg(TOP + len(values) * 26 + 12, shapes)


def lines(
    title,
    series,
    *,
    x_title="",
    y_title="",
    x_text="{:g}".format,
    y_text="{:,g}".format,
    x_ticks=None,
    y_ticks=None,
    dashed=(),
    faint=None,
    height=380,
):
    """Lines from a dictionary of names and lists of points (x, y), each with its name below.

    ``x_text`` and ``y_text`` make a tick's text from its value; ``x_ticks`` and ``y_ticks`` say
    where ticks are. The series named in ``dashed`` are drawn so, without dots. ``faint`` has
    further points of some series: they are drawn as thin lines of the same colour.
    """
    faint = faint or {}
    points = [point for line in [*series.values(), *faint.values()] for point in line]
    x_ticks = x_ticks or _ticks(x for x, _ in points)
    y_ticks = y_ticks or _ticks([0, *(y for _, y in points)])
    bottom = height - 60
    across = _scale([*x_ticks, *(x for x, _ in points)], LEFT, WIDTH - RIGHT)
    up = _scale([*y_ticks, *(y for _, y in points)], bottom, TOP + 14)

    shapes = [_text(LEFT, 26, title, size=16, weight="bold"), _text(LEFT, TOP, y_title)]
    for y in y_ticks:
        at = f'y1="{up(y):.1f}" y2="{up(y):.1f}"'
        shapes.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" {at} stroke="#ddd"/>')
        shapes.append(_text(LEFT - 8, up(y) + 4, y_text(y), anchor="end"))
    for x in x_ticks:
        shapes.append(_text(across(x), bottom + 18, x_text(x), anchor="middle"))
    shapes.append(_text(WIDTH - RIGHT, bottom + 34, x_title, anchor="end"))
    name_x, name_y = LEFT, height - 12
    for index, (name, line) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        path, beside = (
            " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in drawn)
            for drawn in (line, faint.get(name, ()))
        )
        style = f'stroke="{colour}" stroke-width="2"'
        if name in dashed:
            style += ' stroke-dasharray="4 4"'
        else:
            shapes += [
                f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.5" fill="{colour}"/>'
                for x, y in line
            ]
        shapes.append(f'<polyline points="{path}" fill="none" {style}/>')
        if beside:
            thin = f'stroke="{colour}" stroke-width="1" stroke-dasharray="2 3"'
            shapes.append(f'<polyline points="{beside}" fill="none" {thin}/>')
        wide = 40 + 7 * len(name)
        if name_x + wide > WIDTH:
            name_x, name_y = LEFT, name_y + 18
        level = f'y1="{name_y - 4}" y2="{name_y - 4}"'
        shapes.append(f'<line x1="{name_x}" x2="{name_x + 22}" {level} {style}/>')
        shapes.append(_text(name_x + 27, name_y, name))
        name_x += wide
    return _svg(name_y + 12, shapes)


def _svg(height, shapes):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
    ground = f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    return "\n".join([f'{head} font-family="sans-serif">', ground, *shapes, "</svg>\n"])


def _text(x, y, words, *, anchor="start", size=12, weight="normal"):
    style = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(str(words))}</text>'


def _scale(values, start, end):
    least, most = min(values, default=0), max(values, default=1)
    return lambda value: start + (end - start) * (value - least) / ((most - least) or 1)


def _ticks(values):
    """About five round values from the least to the greatest."""
    values = list(values) or [0, 1]
    least, most = min(values), max(values)
    rough = (most - least) / 5 or 1
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    return [step * n for n in range(math.floor(least / step), math.ceil(most / step) + 1)]
