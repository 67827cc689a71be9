// Sections that some runs have: links between processes, the rounds of a federated run, how a split
// model lies on its processes, and which columns a model goes by.
'use strict';

// ---- Links ----

const matrix_max = 12; // processes: more are a list of the busiest
const listed_max = 10;
const is_cut = x => x.still_seconds >= 1.2 && x.sent_bytes > x.came_bytes;

function draw_links(run) {
  const links = run && run.links || [];
  at('links').hidden = links.length === 0;
  if (!links.length) return;
  const names = (run.nodes || []).map(x => x.name).filter(name => links.some(x => x.from === name || x.to === name));
  const has_room = names.length <= matrix_max;
  at('links-note').textContent = has_room ? 'from row to column, what came a second' : 'the busiest; what came a second';
  fill('links-body', has_room ? links_matrix(names, links) : links_list(links));
}

const link_kind = x => is_cut(x) ? 'late' : x.ranges_waiting > 0 ? 'full' : '';

/// Bytes a second; what has been given to the link and has not come is said beside it.
function link_text(x) {
  const way = x.sent_bytes - x.came_bytes;
  return amount(x.bytes_per_second).join(' ') + '/s' + (is_cut(x) ? ', ' + amount(way).join(' ') + ' lost for ' + duration(x.still_seconds) : x.ranges_waiting > 0 ? ', waits for credit' : '');
}

function links_matrix(names, links) {
  const columns = [['from', x => x], ...names.map(to => [to, from => {
    const link = links.find(x => x.from === from && x.to === to);
    return link ? make('span', {class: 'link ' + link_kind(link), 'data-from': from, 'data-to': to, 'data-value': link.bytes_per_second}, link_text(link)) : from === to ? '' : '\u2013';
  }])];
  return table('links between processes', columns, names);
}

function links_list(links) {
  const busiest = [...links].sort((a, b) => (is_cut(b) - is_cut(a)) || b.bytes_per_second - a.bytes_per_second).slice(0, listed_max);
  return table('links between processes', [['from', x => x.from], ['to', x => x.to, 'text'], ['came', link_text]], busiest, link_kind);
}

// ---- Rounds ----

const outcomes = [
  ['merged', 'merged', x => x.counted],
  ['spare', 'enough had come', x => x.surplus],
  ['tardy', 'came too late', x => x.late],
  ['gone', 'refused, or never answered', x => x.refused + x.dropped],
  ['void', 'of a void round: the model stayed', x => x.invited - x.counted - x.surplus - x.late - x.refused - x.dropped],
];
const round_height = 150;
let known_rounds = {rounds: []};

function draw_rounds(answer) {
  known_rounds = answer;
  const rounds = answer.rounds;
  at('rounds').hidden = rounds.length === 0;
  if (!rounds.length) return;
  const is_private = is_number(rounds[rounds.length - 1].epsilon);
  const void_count = rounds.filter(x => x.void).length;
  at('rounds-as-table').hidden = is_private;
  at('rounds-note').textContent = whole(rounds[rounds.length - 1].round) + ' done' + (void_count ? ', of the last ' + whole(rounds.length) + ' void: ' + whole(void_count) : '');
  if (is_private) return fill('rounds-body', make('p', {class: 'none'},
    'A private run: what clients did is told to nobody. Epsilon so far: ' + figure(rounds[rounds.length - 1].epsilon) + '.'));
  const legend = outcomes.filter(([, , count]) => rounds.some(x => count(x) > 0)).map(([kind, words]) => make('span', {}, make('i', {class: kind}), words));
  fill('rounds-body', round_columns(rounds), make('p', {class: 'legend'}, ...legend, make('span', {}, 'a column is a round, its height the clients that were invited')));
  const columns = [['round', x => whole(x.round)], ['invited', x => whole(x.invited)], ['merged', x => whole(x.counted)], ['enough had come', x => whole(x.surplus)],
    ['too late', x => whole(x.late)], ['refused', x => whole(x.refused)], ['never answered', x => whole(x.dropped)], ['', x => x.void ? 'void' : '', 'text']];
  fill('rounds-table', table('rounds', columns, rounds.slice(-200).reverse()));
}

/// Of clients that dial in: what the open round waits for, and what has been sent so far.
function clients_text(x) {
  const round = x.gathers ? 'the round waits for clients' : x.invited ? whole(x.answered) + ' of ' + whole(x.invited) + ' updates' : '';
  const so_far = x.counted || x.refused ? whole(x.counted) + ' counted, ' + whole(x.refused) + ' refused; ' + amount(x.came_bytes).join(' ') + ' came, ' + amount(x.sent_bytes).join(' ') + ' sent' : '';
  return [round, so_far].filter(Boolean).join('; ');
}

/// The newest that find room, drawn for the width there is.
function round_columns(all) {
  const [left, bottom] = [44, 20];
  const width = Math.max(at('rounds-body').clientWidth, 200);
  const rounds = all.slice(-Math.max(1, Math.floor((width - left) / 11)));
  const step = Math.min(30, (width - left) / rounds.length);
  const most = Math.max(...rounds.map(x => x.invited), 1);
  const result = make('svg', {svg: 1, class: 'rounds', width, height: round_height + bottom + 8, role: 'img',
    'aria-label': 'clients of the last ' + rounds.length + ' rounds: merged ' + whole(rounds.reduce((sum, x) => sum + x.counted, 0)) + ' of ' + whole(rounds.reduce((sum, x) => sum + x.invited, 0))});
  for (const count of [0, most]) {
    const y = 8 + round_height * (1 - count / most);
    result.append(make('line', {svg: 1, x1: left, x2: width, y1: y, y2: y}), make('text', {svg: 1, x: left - 8, y: y + 4, 'text-anchor': 'end'}, whole(count)));
  }
  const label_every = Math.ceil(50 / step);
  rounds.forEach((round, i) => {
    const said = outcomes.map(([, words, count]) => [count(round), words]).filter(x => x[0] > 0).map(x => whole(x[0]) + ' ' + x[1]).join(', ');
    const column = make('g', {svg: 1, 'data-round': round.round}, make('title', {svg: 1}, 'round ' + whole(round.round) + ': ' + said));
    let y = 8 + round_height;
    for (const [kind, , count] of outcomes) {
      const height = round_height * Math.max(0, count(round)) / most;
      y -= height;
      if (height > 0) column.append(make('rect', {svg: 1, class: kind, x: left + i * step, y, width: Math.max(step - Math.min(6, step / 4), 1), height, 'data-count': count(round)}));
    }
    if (round.round % label_every === 0 || round.void)
      column.append(make('text', {svg: 1, class: round.void ? 'void' : '', x: left + i * step, y: round_height + bottom + 4}, round.void ? 'void' : whole(round.round)));
    result.append(column);
  });
  return result;
}

// ---- A split model ----

/// {slices, layers, parts} of a partition in words (coordinators/parallel/grid.hpp); null: it
/// carries nothing.
function partition_of(text) {
  const found = /^slices? ([\d-]+), layers? ([\d-]+)(?:, parts? ([\d-]+) of (\d+))?$/.exec(text);
  return found && {slices: found[1], layers: found[2], parts: found[3] || '', of: found[4] || ''};
}

const first_of = range => Number(range.split('-')[0]);

/// A Map from each value of `key` to its items, both in the order of its first number.
function grouped(items, key) {
  const result = new Map();
  for (const item of [...items].sort((a, b) => first_of(key(a)) - first_of(key(b)))) result.set(key(item), [...(result.get(key(item)) || []), item]);
  return result;
}

/// Each that carries a partition: who, what, how it spent its time so far, and what it computed for one result.
function carriers_of(trainers) {
  const has_several = x => trainers.some(y => y.process === x.process && y.replica !== x.replica);
  return trainers.map(x => ({
    who: !x.process ? 'replica ' + x.replica : has_several(x) ? x.process + '/' + x.replica : x.process,
    partition: partition_of(x.partition || ''),
    shares: shares_of(x.computed_ms, x.network_ms, x.waited_ms),
    ms: x.results > 0 ? x.computed_ms / x.results : null,
  })).filter(x => x.partition);
}

function draw_split(run) {
  const carriers = carriers_of(run && run.trainers || []);
  at('split').hidden = carriers.length === 0;
  if (!carriers.length) return;
  const groups = grouped(carriers, x => x.partition.slices);
  const stages = new Set(carriers.map(x => x.partition.layers)).size;
  const parts = Math.max(...carriers.map(x => Number(x.partition.of || 1)));
  at('split-note').textContent = [[groups.size, 'group'], [stages, 'stage'], [parts, 'part']].map(([n, word]) => n + ' ' + word + (n === 1 ? '' : 's')).join(', ') + '; a row is a whole model, a box a part of it';
  const busiest = [...carriers].filter(x => is_number(x.ms)).sort((a, b) => b.ms - a.ms)[0];
  const rows = [...groups].map(([slices, members], i) => make('div', {class: 'group'},
    make('div', {class: 'whose'}, make('b', {}, 'group ' + i), make('span', {}, 'slices ' + slices)),
    make('ol', {class: 'stages'}, ...[...grouped(members, x => x.partition.layers)].map(([layers, boxes]) =>
      make('li', {}, make('small', {}, 'layers ' + layers), make('div', {class: 'parts'}, ...[...grouped(boxes, x => x.partition.parts || '0').values()].flat().map(x => part_box(x, carriers.length > 1 && x === busiest))))))));
  const legend = make('p', {class: 'legend'}, make('span', {}, make('i'), 'computes'), make('span', {}, make('i', {class: 'network'}), 'network, queues'), make('span', {}, make('i', {class: 'idle'}), 'waits'), make('span', {}, 'outlined: computes longest a result'));
  fill('split-body', ...rows, legend);
}

function part_box(x, is_busiest) {
  return make('div', {class: 'part' + (is_busiest ? ' busiest' : ''), 'data-who': x.who, 'data-layers': x.partition.layers, 'data-parts': x.partition.parts},
    make('span', {}, x.who + (x.partition.parts ? ', part ' + x.partition.parts : '')),
    make('span', {class: 'ms'}, (is_busiest ? 'longest: ' : '') + (is_number(x.ms) ? figure(x.ms) + ' ms' : '')),
    x.shares ? time_bar(x.shares, 132) : null);
}

// ---- Importance of columns (troupe importance) ----

const columns_max = 30;

function draw_importance(run) {
  const found = run && run.importance;
  at('importance').hidden = !found;
  if (!found) return;
  const score = is_number(found.accuracy) ? 'accuracy' : 'r2';
  const sorted = [...found.columns].sort((a, b) => b.loss - a.loss).slice(0, columns_max);
  const most = Math.max(...sorted.map(x => x.loss), 0);
  at('importance-note').textContent = 'what it costs to deal a column out anew among the ' + whole(found.rows) + ' ' + found.part + ' rows';
  fill('importance-body', table('importance of columns', [['column', x => x.column], ['', x => importance_bar(x, most), 'text'], ['loss rises by', x => figure(x.loss)],
    ['+-', x => figure(x.loss_deviation)], [score + ' falls by', x => figure(x[score])]], sorted));
}

function importance_bar(x, most, width = 240) {
  const share = most > 0 ? Math.max(0, x.loss) / most : 0;
  const result = make('svg', {svg: 1, class: 'lane', width, height: 12, role: 'img', 'aria-label': x.column + ': ' + figure(x.loss)});
  result.append(make('rect', {svg: 1, class: 'work', x: 0, y: 0, width: width * share, height: 12, 'data-column': x.column}));
  return result;
}
