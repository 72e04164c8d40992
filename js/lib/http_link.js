// SPDX-License-Identifier: MIT
// The way between C's connections and the classes of node:http. What a turn of the loop has brought lies in `events`, where C
// has written it; `receive` hands it out, each event as a callback of its own with a checkpoint behind it.
'use strict';

const sched = load('sched');
const { canDrain } = binding;

const {
  httpEvent: { OPEN, REQUEST, BODY, END, DRAIN, CLOSED, FAULT },
  httpRequest: { SAME, KEEP, OLD, WHOLE, CONTINUE, EXPECTS, NO_HOST, UPGRADE },
  httpSend: { LAST, SHUT, LATIN1, HOLD, CRLF },
  limits: { HTTP_HIGH: HIGH },
} = load('constants');

const servers = []; // by C's number
const links = [];
const native = binding.http(receive);
const { events } = native;

// A connection. `id` is -1 when it is gone: C may give the number to another.
class Link {
  constructor(id, server) {
    this.id = id;
    this.server = server;
    this.head = '';
    this.url = '';
    this.fields = null; // of the head: name, value, ...
    this.req = null;
    this.res = null;
    this.socket = null;
    this.guest = undefined; // the stream that carries it, if it is not C's own
    this.ticking = false;
    this.timer = null; // of the socket's timeout
    this.requests = 0; // counted if the server limits them
  }

  // What was held goes out when this callback is over.
  flushLater() {
    if (this.ticking) return;
    this.ticking = true;
    process.nextTick(flush, this);
  }
  pairs() {
    if (this.fields === null) {
      const fields = this.head.split('\n');
      fields.shift(); // the url
      if (fields.length > 0) fields.pop(); // behind the last line's end
      this.fields = fields;
    }
    return this.fields;
  }
}

function flush(link) {
  link.ticking = false;
  if (link.id >= 0) native.send(link.id, 0);
}

function handle(kind, id, a, b) {
  if (kind === OPEN) {
    const server = servers[a];
    const link = links[id] = new Link(id, server);
    server.opened(link);
    return;
  }
  const link = links[id];
  if (link.timer !== null) link.timer.refresh();
  switch (kind) {
    case REQUEST:
      if ((a & SAME) === 0) {
        const head = link.head = native.head(id);
        const end = head.indexOf('\n');
        link.url = end < 0 ? head : head.slice(0, end);
        link.fields = null;
      }
      link.server.requested(link, a, native.methods[b]);
      break;
    case BODY: {
      const bytes = native.body(id);
      if (link.req !== null && bytes !== undefined) link.req._arrived(bytes);
      break;
    }
    case END:
      if (link.req !== null) link.req._whole(a > 0 ? native.trailer(id) : '');
      break;
    case DRAIN:
      if (link.res !== null) link.res._drained();
      else if (link.socket !== null) link.socket.emit('drain');
      break;
    case CLOSED:
      links[id] = undefined;
      link.id = -1;
      link.server.closed(link, a);
      break;
    case FAULT:
      link.server.faulty(link, a, native.fault(id));
      break;
  }
}

function rethrow(error) {
  throw error;
}
function receive() {
  while (events[0] < events[1]) {
    const at = 4 + 4 * events[0]++;
    const kind = events[at];
    const id = events[at + 1];
    const a = events[at + 2];
    const b = events[at + 3];
    // The caller of this function does for the last one what is done here for the others.
    if (!canDrain || events[0] === events[1]) return handle(kind, id, a, b);
    try {
      handle(kind, id, a, b);
    } catch (error) {
      sched.inScope(rethrow, undefined, [error]); // to the handlers of such errors; no checkpoint follows one
      continue;
    }
    sched.close();
  }
  return undefined;
}

// A connection that JavaScript has brought; undefined: there is no memory for it.
function guest(server, host, fd) {
  const id = native.guest(host, fd);
  return id < 0 ? undefined : links[id] = new Link(id, server);
}

module.exports = { Link, native, guest, events, servers, SAME, KEEP, OLD, WHOLE, CONTINUE, EXPECTS, NO_HOST, UPGRADE, LAST, SHUT, LATIN1, HOLD, CRLF, HIGH };
