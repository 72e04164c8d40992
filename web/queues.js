// SPDX-License-Identifier: MIT
// Queues of jobs on the page: kinds, hosts, runs with their verdicts, dead letters, schedules. After page.js.
'use strict';

function table(heads, rows) {
  const root = element('div', 'scroll'), body = element('table'), head = element('tr');
  root.tabIndex = 0;
  for (const text of heads) head.append(element('th', '', text));
  body.append(element('thead'), element('tbody'));
  body.firstElementChild.append(head);
  for (const cells of rows) {
    const row = element('tr');
    for (const cell of cells) row.append(element('td', '', String(cell)));
    body.lastElementChild.append(row);
  }
  root.append(body);
  return root;
}

const since = (ms) => (ms ? duration(Math.max(0, (Date.now() - ms) / 1000)) : '–');
const firstLine = (text) => text.split('\n', 1)[0];

function queueSection(queue) {
  const root = element('section', 'queue');
  root.append(element('h2', '', `Queue ${queue.queue}`));
  if (queue.error) {
    root.append(element('p', 'bad', queue.error));
    return root;
  }
  root.append(element('p', 'faint', `${count(queue.enqueued)} enqueued = ${count(queue.waiting)} waiting + ${count(queue.running)} running + ` +
    `${count(queue.completed)} completed + ${count(queue.dead)} dead + ${count(queue.cancelled)} cancelled` +
    (queue.balanced ? '' : ': this does NOT balance')));
  const part = (title, heads, rows) => { if (rows.length) root.append(element('h3', '', title), table(heads, rows)); };
  part('Kinds', ['kind', 'class', 'state', 'jobs', 'oldest'],
    queue.kinds.map((k) => [k.kind + (k.paused ? ' (paused)' : ''), k.class, k.state, count(k.count),
      k.state === 'waiting' || k.state === 'running' ? duration(k.oldest_ms / 1000) : '']));
  part('Hosts', ['host:process', 'runs'], queue.hosts.map((h) => [h.name, h.runs]));
  part('Running', ['job', 'kind', 'class', 'for', 'host', 'progress', 'verdict'],
    queue.runs.map((j) => [j.id, j.kind, j.class, since(j.started_ms), j.worker,
      (j.progress === undefined ? '' : `${Math.round(j.progress * 100)} % `) + firstLine(j.text), firstLine(j.verdict)]));
  part('Dead letters', ['job', 'kind', 'class', 'errors', 'crashes', 'ended', 'error', 'verdict'],
    queue.dead_letters.map((j) => [j.id, j.kind, j.class, j.errors, j.crashes, `${since(j.ended_ms)} ago`, firstLine(j.error), firstLine(j.verdict)]));
  part('Schedules', ['name', 'cron', 'zone', 'kind', 'next in'],
    queue.schedules.map((s) => [s.name, s.cron, s.zone, s.kind, duration(Math.max(0, (s.next_ms - Date.now()) / 1000))]));
  return root;
}

let shownQueues = '';
// Ages move by themselves: made anew once a second, or when an answer differs.
function showQueues(queues) {
  const text = JSON.stringify(queues) + Math.floor(Date.now() / 1000);
  if (text === shownQueues) return;
  shownQueues = text;
  $('#queues').replaceChildren(...queues.map(queueSection));
}
