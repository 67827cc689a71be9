// The page of a run: asks /api/status once a second, and for curves and events when it says that
// these have changed. Each section is drawn by itself: one that fails says so, and the others go on.
'use strict';

const interval_ms = 1000;
const lane_seconds = 30;
const seen = {curves: -1, rounds: 0, events: -1}; // what was drawn last; most runs have no rounds
let before = null;                     // the status before
let failures = 0;
let is_paused = false;
let needs_key = false;                 // and has none that fits
const lanes = new Map(); // shares of the last seconds, by process

// ---- What is said first ----

function verdict_of(page) {
  const run = page.status;
  if (page.problem) return ['warn', 'The run does not answer.', page.problem + '. Training does not depend on this page; asking again every second.'];
  if (!run) return ['calm', 'Nothing is known yet.', 'The first figures come with the first answer.'];
  if (run.phase === 'finished') return ['calm', 'Finished: ' + whole(run.step) + ' steps in ' + duration(run.seconds) + '.', result_of(run)];
  if (run.phase === 'failed') return ['bad', 'Failed' + (run.error ? ': ' + run.error.what : '') + '.', run.error && run.error.hint || ''];
  if (run.phase === 'unfinished') return ['warn', 'This run has not finished: ' + whole(run.step) + ' steps are in its history.', 'It goes on with --resume.'];
  if (run.explanation) return [kind_of(run), sentence(run.explanation.verdict), reason_of(run.explanation)];
  if (run.phase === 'waiting') return ['warn', 'Waiting for ' + (run.waits_for || 'the others') + '.', ''];
  if (run.phase === 'stopping') return ['calm', 'Stopping.', ''];
  return ['good', 'All work.', slowest_of(run)];
}

/// A run that moves, or lacks somebody who may come, is not in a bad way.
const kind_of = run => run.explanation.rule === 'working' ? 'good' : run.phase === 'waiting' || run.explanation.rule === 'slow' || run.still_seconds < 2 ? 'warn' : 'bad';

const sentence = text => text[0].toUpperCase() + text.slice(1) + '.';

function reason_of(why) {
  const chain = why.chain.map(x => x.who + ' waits for ' + (x.from ? x.from + ': ' : '') + x.what);
  return (chain.length ? 'Because ' + chain.join('; ') + '. ' : '') + 'What to do: ' + why.advice + '.';
}

function result_of(run) {
  const said = [];
  if (is_number(run.test_accuracy)) said.push('Test accuracy ' + figure(run.test_accuracy));
  else if (is_number(run.test_r2)) said.push('Test R2 ' + figure(run.test_r2));
  else if (is_number(run.test_loss)) said.push('Test loss ' + figure(run.test_loss));
  if (run.replicas_lost) said.push(run.replicas_lost + ' replicas were lost on the way');
  return said.length ? said.join('. ') + '.' : '';
}

function slowest_of(run) {
  const worst = [...(run.trainers || [])].sort((a, b) => b.last_by_ms - a.last_by_ms)[0];
  if (!worst || !worst.last_count || run.trainers.length < 2) return '';
  return 'The others waited longest for ' + name_of(worst) + ': ' + duration(worst.last_by_ms / 1000) + ' in all.';
}

const name_of = x => (x.process ? x.process + '/' : '') + x.replica;

const phase_kinds = {training: 'good', waiting: 'warn', failed: 'bad', unfinished: 'warn'};

function draw_head(page) {
  const run = page.status || {};
  at('job').textContent = page.job;
  document.title = page.job + (run.phase ? ': ' + run.phase : '') + ' - troupe';
  at('phase').textContent = run.phase || '';
  at('phase').className = 'pill ' + (phase_kinds[run.phase] || '');
  at('step').textContent = is_number(run.step) ? 'step ' + whole(run.step) + ' of ' + whole(run.last_step) : '';
  at('left').textContent = is_number(run.seconds_left) ? 'about ' + duration(run.seconds_left) + ' left' : '';
  at('bar').firstElementChild.style.width = run.last_step ? 100 * run.step / run.last_step + '%' : '0';
  at('bar').setAttribute('aria-valuenow', run.step || 0);
  at('bar').setAttribute('aria-valuemax', run.last_step || 0);
  at('live').textContent = page.source === 'finished' ? 'a run\u2019s files' : page.age_seconds > 3 ? duration(page.age_seconds) + ' old' : 'live';
}

function say(kind, what, more) {
  const place = at('verdict');
  place.className = 'verdict ' + kind;
  const [strong, rest] = [place.querySelector('strong'), place.querySelector('p')];
  if (strong.textContent !== what) strong.textContent = what; // said aloud once
  if (rest.textContent !== more) rest.textContent = more;
}

function draw_verdict(page) {
  say(...verdict_of(page));
}

// ---- Figures ----

function tiles_of(page) {
  const run = page.status;
  if (!run) return [];
  const row = run.newest_row || run;
  const rate = amount(page.bytes_per_second);
  const time = (run.trainers || []).map(x => shares_of(x.computed_ms, x.network_ms, x.waited_ms)).filter(Boolean);
  const work = time.reduce((sum, x) => sum + x.work, 0) / time.length;
  const clients = run.clients || {};
  return [
    ['clients_here', 'Clients here', clients.here, ' of ' + whole(clients.wanted), clients_text(clients)],
    ['train_loss', 'Train loss', run.train_loss, '', run.phase === 'training' ? 'of the epoch so far' : ''],
    ['validation_accuracy', 'Validation accuracy', row.validation_accuracy, '', ''],
    ['test_accuracy', 'Test accuracy', row.test_accuracy, '', ''],
    ['test_r2', 'Test R2', row.test_r2, '', ''],
    ['steps_per_second', 'Steps', run.steps_per_second, ' /s', ''],
    ['samples_per_second', 'Samples', run.samples_per_second, ' /s', ''],
    ['bytes_sent', 'Over wires', run.bytes_sent ? Number(rate[0]) : null, ' ' + rate[1] + '/s', amount(run.bytes_sent || 0).join(' ') + ' so far'],
    ['work', 'Work, of all time', is_number(work) ? 100 * work : null, ' %', ''],
    ['learning_rate', 'Learning rate', run.learning_rate, '', ''],
  ].filter(x => is_number(x[2])).slice(0, 6);
}

function draw_tiles(page) {
  fill('tiles', ...tiles_of(page).map(([key, title, value, unit, more]) => make('div', {class: 'tile'}, make('dt', {}, title),
    make('dd', {'data-key': key, 'data-value': value}, figure(value), make('small', {}, unit)), make('p', {class: 'sub'}, more))));
}

// ---- The company ----

/// What each process did since the status before, as shares.
function note_shares(run) {
  const sum = (status, name) => (status.trainers || []).filter(x => x.process === name).reduce(
    (all, x) => [all[0] + x.computed_ms, all[1] + x.network_ms, all[2] + x.waited_ms], [0, 0, 0]);
  for (const node of run.nodes || []) {
    const [now, then] = [sum(run, node.name), before ? sum(before, node.name) : [0, 0, 0]];
    const shares = shares_of(...now.map((x, i) => Math.max(0, x - then[i])));
    const past = lanes.get(node.name) || [];
    lanes.set(node.name, [...past, shares || {work: 0, network: 0, idle: 0}].slice(-lane_seconds));
  }
}

function draw_company(page) {
  const run = page.status || {};
  const nodes = Array.isArray(run.nodes) ? run.nodes : []; // a summary has their number
  at('company').hidden = nodes.length === 0;
  if (!nodes.length) return;
  at('company-note').textContent = [[nodes.length, 'process', 'processes'], [run.replicas, 'replica', 'replicas'], [run.shards, 'shard', 'shards']].map(([n, one, many]) => n + ' ' + (n === 1 ? one : many)).join(', ');
  note_shares(run);
  const late = new Set((run.behind || []).map(x => x.node));
  const columns = [
    ['process', x => x.name || 'this process'],
    ['', x => x.role, 'text'],
    ['', x => x.state, 'text'],
    ['last ' + lane_seconds + ' s', x => lane(x.name + ': work, network and wait', lanes.get(x.name) || [], 240, 26, lane_seconds), 'text'],
    ['step', x => whole(x.step)],
    ['slices', x => whole(x.slices)],
    ['spans', x => whole(x.spans)],
    ['sent', x => amount(x.bytes_sent).join(' ')],
    ['heard', x => is_number(x.last_heard_seconds) ? duration(x.last_heard_seconds) + ' ago' : ''],
    ['at', x => (x.works_at || []).slice(0, 1).map(y => y.actor + ': ' + y.what + (y.seconds >= 1 ? ' for ' + duration(y.seconds) : '')).join(''), 'text'],
    ['waits for', x => (x.waits_for || []).slice(0, 2).join('; '), 'text'],
  ];
  const legend = make('p', {class: 'legend'}, make('span', {}, make('i'), 'computes'), make('span', {}, make('i', {class: 'network'}), 'network, queues'), make('span', {}, make('i', {class: 'idle'}), 'waits'));
  fill('company-body', table('processes', columns, nodes, x => late.has(x.name) ? 'late' : ''), legend);
}

function draw_trainers(page) {
  const rows = [...(page.status && page.status.trainers || [])].sort((a, b) => b.last_by_ms - a.last_by_ms).slice(0, 200);
  if (!rows.length) return fill('trainers', make('p', {class: 'none'}, 'Nobody has done anything yet.'));
  const columns = [
    ['replica', name_of],
    ['results', x => whole(x.results)],
    ['came last', x => whole(x.last_count)],
    ['others waited', x => duration(x.last_by_ms / 1000)],
    ['at most', x => figure(x.last_by_max_ms) + ' ms'],
    ['its time', x => { const s = shares_of(x.computed_ms, x.network_ms, x.waited_ms); return s ? time_bar(s) : ''; }, 'text'],
  ];
  fill('trainers', table('trainers', columns, rows, x => x === rows[0] && rows.length > 1 && x.last_count ? 'worst' : ''));
}

// ---- Curves and events ----

let is_log = true;
const charts = {};

function make_charts() {
  const parts = ['train', 'validation', 'test'];
  charts.loss = new chart('Loss', parts, {log: () => is_log && all_losses_positive});
  charts.accuracy = new chart('Accuracy', parts);
  charts.r2 = new chart('R2', ['validation', 'test']);
  charts.speed = new chart('Samples a second', ['samples'], {zero: true, colour: 'work'});
  charts.rate = new chart('Learning rate', ['rate'], {colour: 'rate'});
}

let all_losses_positive = true;

// What a job asks for beside what every run has: 'auc', say.
function metrics_of(rows) {
  const known = ['loss', 'accuracy', 'r2'];
  const names = rows.flatMap(x => Object.keys(x)).filter(x => /^(test|validation)_/.test(x)).map(x => x.slice(x.indexOf('_') + 1));
  return [...new Set(names)].filter(x => !known.includes(x)).sort();
}

function draw_curves(curves) {
  const {rows, samples} = curves;
  const last = rows.length ? rows[rows.length - 1].steps : 0; // the epoch that is trained has samples only
  const loss = [...rows.map(x => [x.steps, x.train_loss, x.validation_loss, x.test_loss]), ...samples.filter(x => x.steps > last).map(x => [x.steps, x.train_loss, null, null])];
  all_losses_positive = loss.every(x => x.slice(1).every(y => !is_number(y) || y > 0));
  charts.loss.set(loss);
  charts.accuracy.set(rows.map(x => [x.steps, x.train_accuracy, x.validation_accuracy, x.test_accuracy]));
  charts.r2.set(rows.map(x => [x.steps, x.validation_r2, x.test_r2]));
  const metrics = metrics_of(rows);
  for (const name of metrics) {
    const own = 'metric ' + name; // none of the names above
    charts[own] ||= new chart(name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' '), ['validation', 'test']);
    charts[own].set(rows.map(x => [x.steps, x['validation_' + name], x['test_' + name]]));
  }
  charts.speed.set(samples.map(x => [x.steps, x.samples_per_second]));
  charts.rate.set(samples.map(x => [x.steps, x.learning_rate]));
  const columns = ['epoch', 'steps', 'train_loss', 'train_accuracy', 'validation_loss', 'validation_accuracy', 'test_loss', 'test_accuracy', 'test_r2', ...metrics.flatMap(x => ['validation_' + x, 'test_' + x])]
    .filter(key => rows.some(x => is_number(x[key]))).map(key => [key.replaceAll('_', ' '), x => key === 'steps' ? whole(x[key]) : figure(x[key])]);
  fill('rows', rows.length ? table('history', columns, rows.slice(-200).reverse()) : make('p', {class: 'none'}, 'No epoch has ended yet.'));
}

function draw_events(answer) {
  const all = answer.events;
  at('events-note').textContent = all.length ? all.length + ' so far' : '';
  fill('events', ...all.slice(-200).reverse().map(x => make('li', {}, make('time', {}, new Date(1000 * x.time).toLocaleTimeString('en-GB')), make('div', {}, x.text))));
  if (!all.length) fill('events', make('li', {}, make('span'), make('span', {}, 'Nothing has happened yet.')));
}

// ---- Asking ----

function draw(place, what) {
  try {
    what();
  } catch (error) {
    console.error(error);
    if (place) fill(place, make('p', {class: 'none'}, 'This part could not be drawn: ' + error.message));
  }
}

/// The page's token: what follows #key= goes to no server by itself, and out of the address it is in
/// no history and no picture of the screen.
function take_key() {
  const found = /^#key=([0-9a-f]+)$/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem('key', found[1]);
  history.replaceState(null, '', location.pathname);
}

async function ask(path) {
  const key = sessionStorage.getItem('key');
  const headers = key ? {Authorization: 'Bearer ' + key} : {};
  const answer = await fetch(path, {cache: 'no-store', headers, signal: AbortSignal.timeout(5000)});
  needs_key = answer.status === 401;
  document.body.classList.toggle('locked', needs_key);
  at('raw').hidden = key !== null; // a link sends none
  if (!answer.ok) throw new Error(path + ': ' + answer.status);
  return answer.json();
}

async function refresh() {
  const page = await ask('/api/status');
  draw(null, () => draw_head(page));
  draw(null, () => draw_verdict(page));
  draw('tiles', () => draw_tiles(page));
  draw('company-body', () => draw_company(page));
  draw('links-body', () => draw_links(page.status));
  draw('split-body', () => draw_split(page.status));
  draw('importance-body', () => draw_importance(page.status));
  draw('trainers', () => draw_trainers(page));
  at('identity').textContent = page.status && page.status.job_sha256 ? 'job ' + page.status.job_sha256.slice(0, 12) : '';
  before = page.status;
  for (const [name, render] of [['curves', draw_curves], ['rounds', draw_rounds], ['events', draw_events]])
    if (page[name] !== seen[name]) {
      const answer = await ask('/api/' + name);
      draw({events: 'events', rounds: 'rounds-body'}[name] || null, () => render(answer));
      seen[name] = page[name];
    }
  document.body.dataset.drawn = page.status ? page.status.step : -1;
}

async function tick() {
  if (!is_paused)
    try {
      await refresh();
      failures = 0;
    } catch (error) {
      failures += 1;
      at('live').textContent = needs_key ? 'locked' : 'no answer, trying again';
      if (needs_key) say('warn', 'This page needs its key.', 'Open the address with #key= behind it that the run printed when the key was made, or put what is in the token file behind #key=.');
      else if (failures > 2) say('warn', 'This page has lost its server; what you see is old.', 'The run may have ended. Training does not depend on the page.');
    }
  document.body.classList.toggle('stale', failures > 2);
  setTimeout(tick, interval_ms * Math.min(1 + failures, 3));
}

// ---- Keys ----

function set_theme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
  Object.values(charts).forEach(x => x.draw());
}

function press(id, value) {
  at(id).setAttribute('aria-pressed', String(value));
  return value;
}

const turn = {
  p: () => { is_paused = press('pause', !is_paused); },
  t: () => set_theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'),
  l: () => { is_log = press('log', !is_log); charts.loss.draw(); },
};

function begin() {
  take_key();
  addEventListener('hashchange', take_key);
  make_charts();
  set_theme(localStorage.getItem('theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  for (const [key, id] of [['p', 'pause'], ['t', 'theme'], ['l', 'log']]) at(id).addEventListener('click', turn[key]);
  at('rounds-as-table').addEventListener('click', () => { at('rounds-table').hidden = !press('rounds-as-table', at('rounds-table').hidden); });
  addEventListener('resize', () => draw('rounds-body', () => draw_rounds(known_rounds)));
  at('as-table').addEventListener('click', () => { at('rows').hidden = !press('as-table', at('rows').hidden); });
  document.addEventListener('keydown', event => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && turn[event.key]) turn[event.key]();
  });
  tick();
}

begin();
