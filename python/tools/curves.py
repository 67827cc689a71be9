"""Curves of several runs as one SVG picture that needs nothing else: a panel for losses, one for accuracy and one for R2, where
there are any, over steps. A run has a colour; train is solid, validation dashed, test dotted. It follows the reader's light or
dark. Losses are drawn on a logarithmic scale when all are positive. What is not finite is a gap."""

import math

from records import all_figures

WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 260, 70, 20, 34, 34
LEGEND_LINE = 20
TICKS = 4
POINTS_MAX = 1000  # of one curve: more are left out evenly, the last one never

# Each has a contrast of 3 at least on both grounds.
COLOURS = ("#2f6fd6", "#c26a12", "#0f8a6d", "#8a63d2", "#c8436b", "#6b7a1e", "#0e8aa8", "#8a6a52")

STYLE = ("<style>svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#1b2330}"
         ".title{font-weight:600;font-size:14px}.x{text-anchor:middle}.y{text-anchor:end}"
         "path{fill:none;stroke-width:1.8}.grid{stroke:#e3e0d8;stroke-width:1}"
         ".validation{stroke-dasharray:7 4}.test{stroke-dasharray:2 3}"
         "@media(prefers-color-scheme:dark){svg{background:#161b22}text{fill:#e7eaef}"
         ".grid{stroke:#2a323d}}</style>\n")


class Axis:
    def __init__(self, values, is_logarithmic=False):
        self.least, self.most = min(values), max(values)
        self.is_logarithmic = is_logarithmic and self.least > 0 and self.most > 2 * self.least
        if self.least == self.most:  # what one value alone would leave empty is given some room
            room = abs(self.least) / 2 if self.least else 1
            self.least, self.most = self.least - room, self.most + room

    def scaled(self, value):
        return math.log10(value) if self.is_logarithmic else value

    def place(self, value):
        """From 0 to 1."""
        return (self.scaled(value) - self.scaled(self.least)) / (self.scaled(self.most) - self.scaled(self.least))

    def tick(self, i):
        at = self.scaled(self.least) + (self.scaled(self.most) - self.scaled(self.least)) * i / TICKS
        return math.pow(10, at) if self.is_logarithmic else at


def escaped(text):
    for letter, name in ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"):
        text = text.replace(letter, name)
    return "".join(" " if x < " " else x for x in text)


def points_of(history, name):
    """Of the rows that have the figure: those that are evaluated may be few."""
    found = [(row["steps"], row[name]) for row in history if row.get(name) is not None]
    every = len(found) // POINTS_MAX + 1
    return [point for i, point in enumerate(found) if i % every == 0 or i + 1 == len(found)]


def panels_of(runs):
    """Titles, each with its curves: (run, part, points)."""
    result = {"loss": [], "accuracy": [], "r2": []}
    for name, tag, _ in all_figures([row for _, history in runs for row in history]):
        title, slash, part = tag.partition("/")
        if slash:
            curves = [(i, part, points_of(history, name)) for i, (_, history) in enumerate(runs)]
            result.setdefault(title, []).extend(curve for curve in curves if curve[2])
    return {title: curves for title, curves in result.items() if curves}


def panel_text(title, curves, y0):
    steps = Axis([step for _, _, points in curves for step, _ in points])
    finite = [value for _, _, points in curves for _, value in points if math.isfinite(value)]
    values = Axis(finite or [0, 1], title == "loss")
    floor, height, across = y0 + PANEL_HEIGHT - BOTTOM, PANEL_HEIGHT - TOP - BOTTOM, WIDTH - LEFT - RIGHT
    scale = " (logarithmic)" if values.is_logarithmic else ""
    result = [f'<text class="title" x="{LEFT}" y="{y0 + 20}">{title}{scale}</text>\n']
    for i in range(TICKS + 1):
        y = floor - height * i / TICKS
        result.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                      f'<text class="y" x="{LEFT - 8}" y="{y + 4:.1f}">{values.tick(i):.4g}</text>'
                      f'<text class="x" x="{LEFT + across * i / TICKS:.1f}" y="{floor + 18}">{steps.tick(i):.0f}</text>\n')
    for run, part, points in curves:
        path, letter = [], "M"
        for step, value in points:
            if not math.isfinite(value):
                letter = "M"
                continue
            path.append(f"{letter}{LEFT + steps.place(step) * across:.1f} {floor - values.place(value) * height:.1f}")
            letter = "L"
        result.append(f'<path class="{part}" stroke="{COLOURS[run % len(COLOURS)]}" d="{"".join(path)}"/>\n')
    return "".join(result)


def curves_svg(runs):
    """Of names and histories."""
    panels = panels_of(runs)
    legend_y = len(panels) * PANEL_HEIGHT + LEGEND_LINE
    end_y = legend_y + LEGEND_LINE * len(runs)
    result = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {end_y + LEGEND_LINE}">\n'
              f"<title>Curves of {len(runs)} runs over steps</title>\n", STYLE]
    result += (panel_text(title, curves, i * PANEL_HEIGHT) for i, (title, curves) in enumerate(panels.items()))
    for i, (name, _) in enumerate(runs):
        y = legend_y + LEGEND_LINE * i
        result.append(f'<path stroke="{COLOURS[i % len(COLOURS)]}" d="M{LEFT} {y - 4}h30"/>'
                      f'<text x="{LEFT + 40}" y="{y}">{escaped(name)}</text>\n')
    result.append(f'<text x="{LEFT}" y="{end_y}">solid: train, dashed: validation, dotted: test; over steps</text>\n</svg>\n')
    return "".join(result)
