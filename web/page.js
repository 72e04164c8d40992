// SPDX-License-Identifier: MIT
// The page of `vigil serve`: one stream of samples (server-sent events) drawn as tables, plots and lanes.
'use strict';

const KEEP_SECONDS = 60;
const CLASSES = ['CRITICAL', 'HIGH', 'NORMAL', 'LOW', 'IDLE'];
const $ = (selector, root = document) => root.querySelector(selector);

// ---- words ----------------------------------------------------------------------------------------------------------

function time(ns) {
  if (!ns) return '–';
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const [unit, name] = units.find(([u]) => ns >= u) || units[3];
  const value = ns / unit;
  return (value < 9.95 && unit > 1 ? value.toFixed(1) : value.toFixed(0)) + ' ' + name;
}

function count(n) {
  if (n < 10000) return String(Math.round(n));
  const units = ['', 'k', 'M', 'G', 'T', 'P'];
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) { n /= 1000; i++; }
  return (n < 99.95 ? n.toFixed(1) : n.toFixed(0)) + units[i];
}

function bytes(n) {
  return n ? count(n) + 'B' : '–';
}

// For an axis: the shortest form.
function plain(x) {
  return x >= 10000 ? count(x) : String(Number(x.toPrecision(2)));
}

function duration(seconds) {
  if (seconds < 120) return seconds.toFixed(0) + ' s';
  if (seconds < 7200) return (seconds / 60).toFixed(0) + ' min';
  return (seconds / 3600).toFixed(1) + ' h';
}

function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// ---- colours: the style sheet decides, also when the reader switches between light and dark -------------------------

const dark = matchMedia('(prefers-color-scheme: dark)');
let palette = {};
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['c0', 'c1', 'c2', 'c3', 'c4', 'search', 'block', 'lane', 'line', 'faint', 'ink', 'error'])
    palette[name] = style.getPropertyValue('--' + name).trim();
}
readPalette();
const classColour = (i) => palette['c' + i];

// ---- one pool -------------------------------------------------------------------------------------------------------

class Pool {
  constructor(host) {
    this.root = $('#pool-template').content.cloneNode(true).firstElementChild;
    host.append(this.root);
    this.canvas = $('canvas', this.root);
    this.cells = [];      // one per sample: {t, w: Map(worker id -> [class, run, search, block])}
    this.workers = [];    // the newest sample's
    this.rows = CLASSES.map((name, i) => {
      const row = element('tr');
      const head = element('td');
      const swatch = element('span', 'swatch');
      swatch.style.background = `var(--c${i})`;
      head.append(swatch, name);
      row.append(head);
      for (let k = 0; k < 8; k++) row.append(element('td'));
      $('tbody', this.root).append(row);
      return row;
    });
    const legend = $('.legend', this.root);
    const entries = CLASSES.map((name, i) => [`var(--c${i})`, name]);
    for (const [colour, name] of [...entries, ['var(--search)', 'looking for work'], ['var(--block)', 'blocked'],
                                  ['var(--lane)', 'parked']]) {
      const item = element('li');
      const swatch = element('span', 'swatch');
      swatch.style.background = colour;
      item.append(swatch, name);
      legend.append(item);
    }
    this.plots = {
      queue: this.plot('.queue-plot', (c) => c.queued, { includeZero: true }),
      wait: this.plot('.wait-plot', (c) => (c.recent_wait_p99_ns ? c.recent_wait_p99_ns / 1e6 : null), { logscale: true, valueRange: [0.01, 1] }),
      rate: this.plot('.rate-plot', (c) => c.rate, { includeZero: true }),
    };
    this.all = [];
    $('.fold', this.root).addEventListener('click', () => { this.unfolded = !this.unfolded; this.fold(); this.draw(); });
    this.canvas.addEventListener('mousemove', (event) => {
      this.pointer = event.offsetY;
      this.showHover();
    });
    this.canvas.addEventListener('keydown', (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = Math.max(0, Math.min(this.workers.length - 1, Math.floor((this.pointer ?? -1) / this.laneHeight()) + step));
      this.pointer = at * this.laneHeight() + 1;
      this.showHover();
    });
    this.canvas.addEventListener('mouseleave', () => { this.pointer = undefined; this.showHover(); });
  }

  plot(selector, value, options) {
    const data = [];
    const graph = new Dygraph($(selector, this.root), [[0, ...CLASSES.map(() => null)]], {
      labels: ['s', ...CLASSES],
      colors: CLASSES.map((_, i) => classColour(i)),
      gridLineColor: palette.line,
      axisLineColor: palette.line,
      strokeWidth: 1.6,
      legend: 'follow',
      drawPoints: false,
      connectSeparatedPoints: true,
      interactionModel: {},
      axes: { x: { axisLabelFormatter: (x) => (x <= 0 ? `${Math.round(x)} s` : ''), valueFormatter: (x) => `${(-x).toFixed(1)} s ago`, pixelsPerLabel: 60 },
              y: { axisLabelWidth: 42, pixelsPerLabel: 26, axisLabelFormatter: plain, valueFormatter: plain } },
      ...options,
    });
    return { data, graph, value };
  }

  recolour() {
    for (const { graph } of Object.values(this.plots))
      graph.updateOptions({ colors: CLASSES.map((_, i) => classColour(i)), gridLineColor: palette.line, axisLineColor: palette.line });
    this.draw();
  }

  update(sample, pool) {
    // A new record: its clock starts again.
    if (this.cells.length && sample.t < this.cells[this.cells.length - 1].t) {
      this.cells = [];
      for (const { data } of Object.values(this.plots)) data.length = 0;
    }
    setText($('h2', this.root), `Pool ${pool.name}`);
    setText($('.pool-facts', this.root),
      `${pool.workers_wanted} workers · ${pool.threads} threads · ${pool.running} running · ${pool.parked} parked · ` +
      `${pool.blocked} blocked · steals won ${count(pool.steals_won)} of ${count(pool.steals_tried)} · ` +
      `wake-ups ${count(pool.wakes_sent)} (${count(pool.wakes_spurious)} for nothing)`);
    pool.classes.forEach((c, i) => {
      const cells = this.rows[i].children;
      const texts = [c.queued, c.running, c.rate].map(count).concat(
        [c.wait.p50_ns, c.wait.p99_ns, c.run.p50_ns, c.run.p99_ns, c.oldest_ns].map(time));
      texts.forEach((text, k) => setText(cells[k + 1], text));
    });
    for (const { data, graph, value } of Object.values(this.plots)) {
      data.push([sample.t, ...pool.classes.map(value)]);
      while (data.length && data[0][0] < sample.t - KEEP_SECONDS) data.shift();
      const options = { file: data.map(([t, ...rest]) => [t - sample.t, ...rest]), dateWindow: [-KEEP_SECONDS, 0] };
      if (graph.getOption('logscale')) {
        // Set here: without data a logarithmic axis has no range of its own.
        const values = data.flatMap(([, ...rest]) => rest.filter((v) => v > 0));
        options.valueRange = values.length ? [values.reduce((a, b) => Math.min(a, b)) * 0.7, values.reduce((a, b) => Math.max(a, b)) * 1.4] : [0.01, 1];
      }
      graph.updateOptions(options);
    }
    const cell = { t: sample.t, w: new Map() };
    for (const w of pool.workers)
      cell.w.set(w.id, [w.class, w.run_share, w.search_share, w.blocked_share]);
    this.cells.push(cell);
    while (this.cells.length && this.cells[0].t < sample.t - KEEP_SECONDS) this.cells.shift();
    this.all = pool.workers;
    this.fold();
    this.draw();
    this.showHover();
  }

  // Workers that did nothing in the whole time shown take one line together.
  fold() {
    const busy = new Set();
    for (const cell of this.cells) for (const [id, parts] of cell.w) if (parts[1] > 0.002 || parts[3] > 0.002) busy.add(id);
    const idle = this.all.filter((w) => !busy.has(w.id) && w.state !== 'running' && w.state !== 'blocked');
    const folds = idle.length >= 2 && !this.unfolded;
    this.workers = folds ? this.all.filter((w) => !idle.includes(w)) : this.all;
    const button = $('.fold', this.root);
    button.hidden = idle.length < 2;
    setText(button, this.unfolded ? 'fold idle lanes' : `show ${idle.length} idle lanes`);
    button.setAttribute('aria-expanded', String(Boolean(this.unfolded)));
  }

  // What the recorder still knows of the time before the page was opened.
  fill(history, pool) {
    const begin = this.cells.length ? this.cells[0].t : Infinity;
    const time = (i) => history.t - (pool.queued.length - 1 - i) * history.step;
    const before = pool.queued.map((_, i) => i).filter((i) => time(i) < begin && time(i) >= 0);
    for (const [name, values] of [['queue', pool.queued], ['wait', pool.wait_ms], ['rate', pool.rate]]) {
      const nothing = name === 'wait' ? null : 0;
      this.plots[name].data.unshift(...before.filter((i) => values[i]).map((i) => [time(i), ...values[i].map((v) => v ?? nothing)]));
    }
    this.cells.unshift(...before.map((i) => ({ t: time(i), w: new Map(Object.entries(pool.workers)
      .filter(([, lane]) => lane[i]).map(([id, lane]) => [Number(id), [lane[i][0], lane[i][1], 0, lane[i][2]]])) })));
  }

  laneHeight() {
    return this.workers.length > 64 ? 8 : 13;
  }

  draw() {
    const canvas = this.canvas, ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, lane = this.laneHeight(), height = Math.max(1, this.workers.length * lane);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = height + 'px';
    }
    const g = canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    const label = 34, now = width >= 700 ? 230 : 0;      // space on the left, and on the right for what runs now
    const span = width - label - now;
    const last = this.cells.length ? this.cells[this.cells.length - 1].t : 0;
    const x = (t) => label + span + (t - last) / KEEP_SECONDS * span;
    setText($('.span', this.root), `the last ${KEEP_SECONDS} s, newest on the right`);
    g.font = `${Math.min(11, lane - 2)}px system-ui, "DejaVu Sans", sans-serif`;
    g.textBaseline = 'middle';
    this.workers.forEach((w, row) => {
      const top = row * lane, tall = lane - 2;
      g.fillStyle = palette.faint;
      g.textAlign = 'right';
      g.fillText(w.spare ? 's' + (w.id - 1024) : String(w.id), label - 6, top + lane / 2);
      g.fillStyle = palette.lane;
      g.fillRect(label, top, span, tall);
      for (let i = 1; i < this.cells.length; i++) {
        const cell = this.cells[i].w.get(w.id);
        if (!cell) continue;
        const left = Math.max(label, x(this.cells[i - 1].t)), right = x(this.cells[i].t);
        let bottom = top + tall;
        for (const [share, colour] of [[cell[1], cell[0] >= 0 ? classColour(cell[0]) : palette.c2], [cell[3], palette.block], [cell[2], palette.search]]) {
          // Anything above zero is at least one pixel high.
          const part = share > 0.002 ? Math.min(bottom - top, Math.max(1, share * tall)) : 0;
          if (part <= 0) continue;
          g.fillStyle = colour;
          g.fillRect(left, bottom - part, right - left + 0.3, part);
          bottom -= part;
        }
      }
      if (now) {
        const long = w.state === 'running' && w.since_ns > 1e9;
        g.textAlign = 'left';
        g.fillStyle = long ? palette.error : w.state === 'parked' ? palette.faint : palette.ink;
        g.fillText(this.describe(w), label + span + 8, top + lane / 2, now - 8);
      }
    });
  }

  describe(w) {
    const what = w.state === 'running' || w.state === 'blocked' ? (w.function || w.state) : w.state;
    const since = w.since_ns > 1e8 ? ' for ' + time(w.since_ns) : '';
    return (w.state === 'blocked' && w.function ? what + ' (blocked)' : what) + since;
  }

  showHover() {
    const w = this.pointer === undefined ? undefined : this.workers[Math.floor(this.pointer / this.laneHeight())];
    setText($('.hover', this.root), w
      ? `worker ${w.spare ? 'spare ' + (w.id - 1024) : w.id}${w.tid ? ', thread ' + w.tid : ''}: ${this.describe(w)}; ` +
        `${count(w.started)} tasks started, steals won ${count(w.steals_won)} of ${count(w.steals_tried)}, ` +
        `parked ${count(w.parks)} times`
      : 'Point at a lane (or use the arrow keys) to see its worker.');
  }
}

// ---- one loop -------------------------------------------------------------------------------------------------------

class Loop {
  constructor(host) {
    this.root = $('#loop-template').content.cloneNode(true).firstElementChild;
    host.append(this.root);
  }

  update(sample, loop) {
    setText($('h2', this.root), `Loop ${loop.name}`);
    const doing = loop.state === 'running' ? `in ${loop.phase}${loop.function ? ': ' + loop.function : ''} for ${time(loop.since_ns)}` : loop.state;
    setText($('.loop-facts', this.root),
      `${doing} · ${count(loop.turn_rate)} turns/s · busy ${(loop.busy_share * 100).toFixed(1)} % · posts queued ${count(loop.posts_queued)} · ` +
      `timers ${count(loop.timers_active)} · descriptors ${count(loop.watches_active)}`);
    this.showStreams(loop);
    const grid = $('.phases', this.root);
    if (grid.childElementCount !== loop.phases.length * 4) {
      grid.replaceChildren();
      for (const phase of loop.phases) {
        const bar = element('div', 'bar');
        bar.append(element('i'));
        grid.append(element('span', '', phase.name), bar, element('span', 'number'), element('span', 'number faint'));
      }
    }
    loop.phases.forEach((phase, i) => {
      grid.children[i * 4 + 1].firstElementChild.style.width = Math.min(100, phase.share * 100).toFixed(1) + '%';
      setText(grid.children[i * 4 + 2], (phase.share * 100).toFixed(1) + ' %');
      setText(grid.children[i * 4 + 3], count(phase.rate) + ' callbacks/s');
    });
  }

  // Who waits longest comes first; the rest is in report.json.
  showStreams(loop) {
    const most = 50, host = $('.streams', this.root), body = $('tbody', host);
    host.hidden = !loop.streams_opened;
    if (host.hidden) return;
    const owed = (s) => Math.max(0, ...['read', 'write', 'start', 'connect', 'room'].map((what) => s.waits_ns[what] || 0));
    const shown = [...loop.streams].sort((a, b) => owed(b) - owed(a)).slice(0, most);
    const hidden = loop.streams_open - shown.length;
    setText($('summary', host), `Streams, listeners, children: ${count(loop.streams_open)} open, ${count(loop.streams_opened)} ever; ` +
      `read ${bytes(loop.bytes_read)}, sent ${bytes(loop.bytes_sent)}${hidden > 0 ? `; ${count(hidden)} are not in the table` : ''}`);
    while (body.childElementCount > shown.length) body.lastElementChild.remove();
    while (body.childElementCount < shown.length) {
      const row = element('tr');
      for (let i = 0; i < 8; i++) row.append(element('td'));
      body.append(row);
    }
    shown.forEach((s, i) => {
      const waits = Object.entries(s.waits_ns).map(([what, ns]) => `${what} for ${time(ns)}`).join(', ');
      const cells = [s.id, s.kind, s.kind === 'child' ? String(s.pid) : s.address, s.name, time(s.age_ns), waits, bytes(s.unsent),
        `${bytes(s.bytes_read)} / ${bytes(s.bytes_sent)}`];
      cells.forEach((text, k) => setText(body.children[i].children[k], String(text)));
    });
  }
}

// ---- warnings -------------------------------------------------------------------------------------------------------

let shownWarnings = '';
function showWarnings(verdicts, watched) {
  const text = watched + JSON.stringify(verdicts.map((v) => [v.id, v.active, v.reason, v.evidence]));
  if (text === shownWarnings) return;
  shownWarnings = text;
  const host = $('#warnings');
  host.replaceChildren();
  if (!verdicts.length) {
    host.append(element('p', 'calm', watched ? 'No warnings: the watchdog has found nothing wrong.'
      : 'No warnings, because nobody looks: this program has not started the watchdog (vigil_watchdog_start).'));
    return;
  }
  // Standing verdicts first, then the newest of those that are over.
  const over = verdicts.filter((v) => !v.active).slice(0, 5);
  for (const v of [...verdicts.filter((v) => v.active), ...over]) {
    const box = element('article', `verdict severity-${v.severity.toLowerCase()}${v.active ? '' : ' over'}`);
    const head = element('h4');
    head.append(element('span', 'severity', v.severity), ` ${v.kind}`, element('span', 'faint', ` · ${v.subject}`));
    head.append(element('span', 'faint', v.active ? ` · at ${v.at_s.toFixed(1)} s` : ` · at ${v.at_s.toFixed(1)} s, over`));
    box.append(head, element('p', '', v.reason));
    // A verdict that is over is folded.
    const room = v.active ? box : element('details');
    if (!v.active) {
      room.append(element('summary', 'faint', 'evidence and advice'));
      box.append(room);
    }
    const line = (name, value) => {
      if (!value) return;
      const p = element('p');
      p.append(element('b', '', name + ' '), value);
      room.append(p);
    };
    // The rest of a thread's stack is folded.
    const at = v.evidence.search(/^thread \d+ \(/m);
    line('Evidence', (at < 0 ? v.evidence : v.evidence.slice(0, at)).trimEnd());
    line('Advice', v.advice);
    if (v.explain) {
      const more = element('a', '', 'What it means, and what to do');
      more.href = `verdicts/${v.explain}`;
      const p = element('p');
      p.append(more);
      room.append(p);
    }
    line('Done about it', v.action);
    if (at >= 0) {
      const details = element('details', 'faint');
      details.append(element('summary', '', 'stacks'), element('pre', '', v.evidence.slice(at)));
      room.append(details);
    }
    host.append(box);
  }
}

// ---- the doctor -----------------------------------------------------------------------------------------------------

const SVG = 'http://www.w3.org/2000/svg';
function shape(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// The wait-for graph: threads on a circle, an arrow from each to the thread it waits for. Others are not drawn.
function drawWaits(exam) {
  const known = new Map(exam.threads.map((t) => [t.tid, t]));
  const edges = [];
  for (const t of exam.threads) {
    if (!t.wait) continue;
    if (known.has(t.wait.owner)) edges.push([t, known.get(t.wait.owner)]);
    else for (const pid of t.wait.processes) {
      const other = exam.threads.find((x) => x.pid === pid && x.tid !== t.tid && pid !== t.pid);
      if (other) edges.push([t, other]);
    }
  }
  const nodes = [...new Set(edges.flat())].slice(0, 24);
  if (!nodes.length) return null;
  const width = 720, height = Math.max(200, Math.min(480, nodes.length * 60)), boxWidth = 190, boxHeight = 44;
  const svg = shape('svg', { viewBox: `0 0 ${width} ${height}`, class: 'waits', role: 'img',
    'aria-label': edges.map(([a, b]) => `thread ${a.tid} waits for ${a.wait.for}, held by thread ${b.tid}`).join('; ') });
  const marker = shape('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' });
  marker.append(shape('path', { d: 'M0 0L8 4L0 8z' }));
  svg.append(marker);
  const at = new Map(nodes.map((t, i) => {
    const angle = 2 * Math.PI * i / nodes.length - Math.PI / 2;
    return [t, [width / 2 + (width - boxWidth) / 2.2 * Math.cos(angle), height / 2 + (height - boxHeight) / 2.2 * Math.sin(angle)]];
  }));
  for (const [from, to] of edges) {
    if (!at.has(from) || !at.has(to)) continue;
    const [x, y] = at.get(from), [u, v] = at.get(to);
    const bend = [(x + u) / 2 - (v - y) / 8, (y + v) / 2 + (u - x) / 8];
    // The arrow ends at the edge of the box.
    const part = Math.min(boxWidth / 2 / Math.max(1, Math.abs(u - bend[0])), (boxHeight / 2 + 2) / Math.max(1, Math.abs(v - bend[1])), 1);
    const arrow = shape('path', { class: from.stuck ? 'stuck' : '', 'marker-end': 'url(#tip)',
      d: `M${x} ${y}Q${bend[0]} ${bend[1]} ${u - (u - bend[0]) * part} ${v - (v - bend[1]) * part}` });
    arrow.append(shape('title', {}, `waits for ${from.wait.for}`));
    svg.append(arrow);
  }
  for (const [t, [x, y]] of at) {
    const own = t.stack.find((f) => f.file && !/^(lib(c|pthread|stdc\+\+)[.-]|ld-musl)/.test(f.module || ''));
    const box = shape('g', {});
    box.append(shape('rect', { x: x - boxWidth / 2, y: y - boxHeight / 2, width: boxWidth, height: boxHeight, rx: 6, class: t.stuck ? 'stuck' : '' }),
      shape('text', { x, y: y - 4 }, `${t.name} ${t.tid}`), shape('text', { x, y: y + 14, class: 'small' }, own ? `${own.file}:${own.line}` : t.wait ? t.wait.kind : 'runs'));
    svg.append(box);
  }
  return svg;
}

function showExamination(exam) {
  const host = $('#examination');
  host.replaceChildren();
  if (!exam.findings.length) host.append(element('p', 'calm', exam.refusal || 'Nothing is wrong that can be seen from outside.'));
  for (const f of exam.findings) {
    const box = element('article', 'verdict severity-error');
    const head = element('h3');
    head.append(element('span', 'severity', f.kind), f.certain ? ' certain' : ' probable');
    box.append(head, element('p', '', f.title), element('p', 'faint', f.advice));
    host.append(box);
  }
  const drawing = drawWaits(exam);
  if (drawing) host.append(drawing);
}

// Every process that may be examined; the one that the page is for comes first.
async function listProcesses() {
  const answer = await fetch('processes.json' + location.search);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const machine = await answer.json();
  const select = $('#patient'), kept = Number(select.value) || machine.chosen;
  const all = machine.processes.sort((a, b) => (b.pid === machine.chosen) - (a.pid === machine.chosen) || b.vigil - a.vigil || a.pid - b.pid);
  select.replaceChildren();
  for (const p of all) {
    const option = element('option', '', `${p.pid} ${p.name}${p.vigil ? ' (Vigil inside)' : ''}, ${p.threads} thread${p.threads === 1 ? '' : 's'}, ${p.user}`);
    option.value = String(p.pid);
    option.title = p.command;
    select.append(option);
  }
  if (all.some((p) => p.pid === kept)) select.value = String(kept);
  return machine;
}

async function examine() {
  const button = $('#examine'), status = $('#examined');
  button.disabled = true;
  setText(status, 'looking…');
  try {
    let answer;
    const query = new URLSearchParams(location.search);
    if ($('#patient').value) query.set('pid', $('#patient').value);
    do {
      await new Promise((resolve) => setTimeout(resolve, 300));
      answer = await fetch('doctor.json?' + query);
    } while (answer.status === 202);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const exam = await answer.json();
    showExamination(exam);
    setText(status, `${exam.pid} ${exam.name}: looked for ${(exam.took_ns / 1e9).toFixed(1)} s`);
    document.documentElement.dataset.examined = String(exam.pid);
  } catch (error) {
    setText(status, error.message);
  }
  button.disabled = false;
}

// ---- the stream -----------------------------------------------------------------------------------------------------

const pools = new Map(), loops = new Map();
let past; // until the first sample has come

function show(sample) {
  const p = sample.process;
  document.title = `${p.name} ${p.pid} · vigil`;
  setText($('#name'), p.name);
  setText($('#pid'), String(p.pid));
  const state = $('#state');
  state.className = p.state === 'running' ? '' : 'bad';
  setText(state, p.state);
  setText($('#facts'), `up ${duration(p.uptime_s)} · vigil ${p.version} · ${p.events_lost ? count(p.events_lost) + ' events lost' : 'recording'}`);
  showWarnings(sample.verdicts, p.watchdog_age_ns !== undefined);
  const update = (map, list, host, Kind) => {
    const alive = new Set(list.map((x) => x.id));
    for (const [id, view] of map) if (!alive.has(id)) { view.root.remove(); map.delete(id); }
    for (const x of list) {
      if (!map.has(x.id)) map.set(x.id, new Kind(host));
      map.get(x.id).update(sample, x);
    }
  };
  update(pools, sample.pools, $('#pools'), Pool);
  if (past) {
    for (const pool of past.pools) pools.get(pool.id)?.fill(past, pool);
    past = undefined;
  }
  update(loops, sample.loops, $('#loops'), Loop);
  showQueues(sample.queues || []);
}

// A process without Vigil has no record: only the doctor has something to say.
function showDoctorAlone(machine) {
  for (const id of ['warnings', 'pools', 'loops', 'queues', 'link-report', 'link-metrics', 'link-trace', 'link-hint']) $('#' + id).hidden = true;
  const chosen = machine.processes.find((p) => p.pid === machine.chosen);
  setText($('#name'), chosen ? chosen.name : 'this machine');
  setText($('#pid'), chosen ? String(chosen.pid) : '');
  setText($('#state'), 'no Vigil inside');
  setText($('#facts'), chosen ? chosen.command : `${machine.processes.length} processes may be examined`);
  document.title = `${chosen ? chosen.name + ' ' + chosen.pid : 'processes'} · vigil`;
  if (chosen) examine();
}

async function begin() {
  const query = location.search;
  $('#examine').addEventListener('click', examine);
  $('#patient').addEventListener('focus', () => listProcesses().catch(() => {}));
  for (const id of ['link-report', 'link-doctor', 'link-processes', 'link-metrics', 'link-trace']) $('#' + id).href += query;
  dark.addEventListener('change', () => { readPalette(); pools.forEach((pool) => pool.recolour()); });
  addEventListener('resize', () => pools.forEach((pool) => pool.draw()));
  let machine;
  try {
    machine = await listProcesses();
  } catch (error) {
    setText($('#examined'), error.message);
  }
  if (machine && !machine.vigil) return showDoctorAlone(machine);
  past = await fetch('history.json' + query).then((answer) => answer.json(), () => undefined).catch(() => undefined);
  const stream = new EventSource('events' + query);
  stream.addEventListener('sample', (event) => {
    show(JSON.parse(event.data));
    document.documentElement.dataset.samples = String(Number(document.documentElement.dataset.samples || 0) + 1);
  });
  stream.onerror = () => {
    const state = $('#state');
    state.className = 'bad';
    setText(state, 'vigil serve has gone; this page tries again');
  };
}
begin();
