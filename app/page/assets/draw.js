// Elements of the page: text goes in as text, never as markup, because names of nodes and lines of
// events come from other machines.
'use strict';

const at = id => document.getElementById(id);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

function make(tag, options = {}, ...inside) {
  const result = options.svg ? document.createElementNS('http://www.w3.org/2000/svg', tag)
                             : document.createElement(tag);
  for (const [key, value] of Object.entries(options))
    if (key !== 'svg') result.setAttribute(key, value);
  result.append(...inside.filter(x => x !== null && x !== undefined));
  return result;
}

function fill(id, ...inside) {
  at(id).replaceChildren(...inside);
}

// ---- Numbers ----

const is_number = x => typeof x === 'number' && Number.isFinite(x);
const whole = x => is_number(x) ? Math.round(x).toLocaleString('en-US') : '';
function figure(x) {
  if (!is_number(x)) return '';
  const size = Math.abs(x);
  if (size >= 1000 && size < 1e9) return whole(x);
  return x === 0 ? '0' : size >= 1e9 || size < 1e-4 ? x.toExponential(2) : String(Number(x.toPrecision(4)));
}

/// Beside an axis, where there is room for few letters: 1.25M.
const tick_text = x => Math.abs(x) < 1e5 || Math.abs(x) >= 1e15 ? figure(x) :
  x.toLocaleString('en-US', {notation: 'compact', maximumSignificantDigits: 4});

function amount(x) {
  for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]])
    if (x >= size) return [figure(x / size), unit];
  return [figure(x), 'B'];
}

function duration(seconds) {
  if (!is_number(seconds)) return '';
  if (seconds < 1) return Math.round(1000 * seconds) + ' ms';
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + ' s';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
  return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' min';
}

// ---- Tables ----

/// Columns are [title, function of a row, class]; a function gives text or an element.
function table(label, columns, rows, class_of = () => '') {
  const head = make('tr', {}, ...columns.map(([title, , kind]) => make('th', {scope: 'col', class: kind || ''}, title)));
  const lines = rows.map(row => make('tr', {class: class_of(row)},
    ...columns.map(([, value, kind]) => make('td', {class: kind || ''}, value(row)))));
  return make('table', {'aria-label': label}, make('thead', {}, head), make('tbody', {}, ...lines));
}

/// Columns of shares {work, network, idle} that add up to 1, stacked, oldest first, the newest at the
/// right; there is room for `count_max`.
function lane(label, columns, width, height, count_max) {
  const result = make('svg', {svg: 1, class: 'lane', width, height, role: 'img', 'aria-label': label});
  const step = width / count_max;
  columns.forEach((shares, i) => {
    let y = height;
    for (const kind of ['work', 'network', 'idle']) {
      const size = height * shares[kind];
      y -= size;
      result.append(make('rect', {svg: 1, class: kind, x: width - (columns.length - i) * step, y, width: Math.max(step - 1, 1), height: size}));
    }
  });
  return result;
}

/// How a replica's time was spent, of milliseconds; null when it has spent none.
function shares_of(work, network, idle) {
  const all = work + network + idle;
  return all > 0 ? {work: work / all, network: network / all, idle: idle / all} : null;
}

/// The same as a bar; its words are the reading.
function time_bar(shares, width = 170) {
  const percent = x => Math.round(100 * x) + ' %';
  const result = make('svg', {svg: 1, class: 'lane', width, height: 10, role: 'img',
    'aria-label': `computes ${percent(shares.work)}, network ${percent(shares.network)}, waits ${percent(shares.idle)}`});
  let x = 0;
  for (const kind of ['work', 'network', 'idle']) {
    result.append(make('rect', {svg: 1, class: kind, x, y: 0, width: width * shares[kind], height: 10}));
    x += width * shares[kind];
  }
  return result;
}

// ---- Curves ----

// The legend is ours: theirs writes styles into markup, which the page's policy forbids.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter(x => x !== Dygraph.Plugins.Legend);

const strokes = {
  train: {strokeWidth: 1.4},
  validation: {strokePattern: [7, 4], strokeWidth: 2},
  test: {strokePattern: [2, 3], strokeWidth: 2},
};

/// A chart that keeps its place: `set` gives it points [steps, value of each series].
class chart {
  constructor(title, series, options = {}) {
    this.series = series;
    this.options = options;
    this.reading = make('p', {class: 'reading', 'aria-live': 'off'});
    this.plot = make('div', {class: 'plot', role: 'img', 'aria-label': title});
    const keys = series.length > 1 ? series.map(x => make('span', {class: 'key ' + x}, x)) : [];
    this.element = make('div', {class: 'chart', hidden: ''}, make('h3', {}, title, ...keys), this.plot, this.reading);
    at('charts').append(this.element);
  }

  set(points) {
    const used = points.filter(x => x.slice(1).some(is_number));
    this.element.hidden = used.length === 0;
    if (!used.length) return;
    this.points = used;
    if (this.graph) this.graph.updateOptions({file: used});
    else this.draw();
  }

  draw() {
    if (!this.points) return;
    if (this.graph) this.graph.destroy();
    this.graph = new Dygraph(this.plot, this.points, {
      labels: ['step', ...this.series],
      colors: this.series.map(x => colour(this.options.colour || x)),
      series: Object.fromEntries(this.series.filter(x => strokes[x]).map(x => [x, strokes[x]])),
      connectSeparatedPoints: true, drawPoints: this.points.length < 3,
      logscale: Boolean(this.options.log && this.options.log()),
      includeZero: Boolean(this.options.zero), fillGraph: Boolean(this.options.zero), fillAlpha: 0.12,
      gridLineColor: colour('line2'), axisLineColor: colour('line'), axisLabelFontSize: 12, xRangePad: 4,
      axes: {x: {axisLabelFormatter: whole}, y: {axisLabelWidth: 52, axisLabelFormatter: tick_text}},
      highlightCallback: (event, x, found) => {
        this.reading.textContent = 'step ' + whole(x) + ': ' +
          found.map(one => (this.series.length > 1 ? one.name + ' ' : '') + figure(one.yval)).join(', ');
      },
      unhighlightCallback: () => { this.reading.textContent = ''; },
    });
  }
}
