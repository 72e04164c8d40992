// SPDX-License-Identifier: MIT
// A request on its connection: what the server sends becomes an answer, and afterwards the connection is free or ends.
'use strict';

const { answerOpen, answerParse, answerFinish, answerText, answerFault } = binding;
const { httpAnswerEvent: { HEAD, BODY }, httpAnswer: { KEEP, UPGRADE, OLD } } = load('constants');
const { Answer } = load('http_answer');
const { parseError } = load('http_names');

const MAX_HEADER = 16384;

const hangUp = (text) => load('http_client').hangUp(text);

function watch(req, socket) {
  const parser = answerOpen(req.method === 'HEAD', req.method === 'CONNECT', req.maxHeaderSize || MAX_HEADER, req.insecureHTTPParser === true);
  const link = { req, socket, parser, answer: null, over: false, spent: false, hadError: false };
  req.socket = socket;
  req._link = link;
  socket._httpMessage = req;
  link.onData = (data) => received(link, data);
  link.onEnd = () => ended(link);
  link.onError = (error) => {
    link.hadError = true;
    if (!req._closed && !link.over) {
      req.destroyed = true;
      req.emit('error', error);
    }
  };
  link.onClose = () => closed(link);
  link.onDrain = () => { if (req._needDrain) req.emit('drain'); };
  socket.on('data', link.onData);
  socket.on('end', link.onEnd);
  socket.on('error', link.onError);
  socket.on('close', link.onClose);
  link.onTimeout = () => link.answer?.emit('timeout');
  socket.on('timeout', link.onTimeout);
  req.once('finish', () => {
    if (link.answer !== null && link.answer.complete && link.answer.readableEnded) release(link);
  });
}
function unwatch(link) {
  const { req, socket } = link;
  link.over = true;
  socket.removeListener('data', link.onData);
  socket.removeListener('end', link.onEnd);
  socket.removeListener('error', link.onError);
  socket.removeListener('close', link.onClose);
  socket.removeListener('timeout', link.onTimeout);
  if (req.timeoutCb !== null) {
    socket.removeListener('timeout', req.timeoutCb);
    req.timeoutCb = null;
  }
}

// ---- what comes ---------------------------------------------------------------------------------------------------

function received(link, data) {
  const events = answerParse(link.parser, data);
  const fault = answerFault(link.parser);
  handle(link, events, data);
  if (fault === undefined || link.over || link.spent) return;
  if (fault[0] === 'HPE_PAUSED_UPGRADE') {
    upgraded(link, data.subarray(fault[2]));
    return;
  }
  const { req, socket, answer } = link;
  unwatch(link);
  socket.on('error', () => {});
  socket.destroy();
  const error = parseError(fault[0], fault[1], fault[2], data);
  if (answer !== null && !answer.complete) answer.destroy(hangUp('aborted'));
  req.destroyed = true;
  req.emit('error', error);
  req._close();
}
function handle(link, events, data) {
  const text = events.length > 0 && (events[0] !== BODY || events.length > 4) ? answerText(link.parser) : '';
  for (let i = 0; i < events.length && !link.over && !link.spent; i += 4) {
    const from = events[i + 1];
    const to = events[i + 2];
    if (events[i] === HEAD) {
      const lines = text.slice(from, to).split('\n');
      lines.pop();
      headed(link, lines, Math.floor(events[i + 3] / 16), events[i + 3] % 16);
    } else if (events[i] === BODY) {
      if (link.answer !== null && !link.answer._dumped && !link.answer.push(data.subarray(from, to))) link.socket.pause();
    } else if (link.interim) {
      link.interim = false;
    } else if (link.answer !== null && !link.upgrade) {
      finished(link, text.slice(from, to));
    }
  }
}
function headed(link, lines, status, flags) {
  const { req, socket } = link;
  const answer = new Answer(socket, lines, status, (flags & OLD) !== 0, req.joinDuplicateHeaders, req.maxHeadersCount);
  if ((flags & UPGRADE) !== 0 && (status === 101 || req.method === 'CONNECT')) {
    answer.upgrade = true;
    answer.req = req;
    req.res = link.answer = answer;
    link.upgrade = true;
    return;
  }
  if (status < 200) {
    link.interim = true;
    if (status === 100) req.emit('continue');
    req.emit('information', {
      statusCode: status, statusMessage: answer.statusMessage, httpVersion: answer.httpVersion,
      httpVersionMajor: 1, httpVersionMinor: answer.httpVersionMinor, headers: answer.headers, rawHeaders: answer.rawHeaders,
    });
    return;
  }
  if (link.answer !== null) {
    // Two answers to one request: the first one is whole.
    link.spent = true;
    socket.destroy();
    return;
  }
  if (req.shouldKeepAlive && (flags & KEEP) === 0) req.shouldKeepAlive = false;
  req.res = link.answer = answer;
  answer.req = req;
  answer.once('end', () => answerEnded(link));
  answer.once('close', () => {
    if (!link.over && !answer.readableEnded && !socket.destroyed) socket.destroy();
  });
  req._answered = true;
  if (req.aborted || !req.emit('response', answer)) answer._dump();
}
function finished(link, trailer) {
  const { answer } = link;
  answer.complete = true;
  if (trailer !== '') answer.rawTrailers = trailer.split('\n').slice(0, -1);
  answer.push(null);
}
function upgraded(link, head) {
  const { req, socket, answer } = link;
  unwatch(link);
  socket.readableFlowing = null;
  socket.parser = null;
  if (socket._httpMessage === req) socket._httpMessage = null;
  answer.complete = true;
  const event = req.method === 'CONNECT' ? 'connect' : 'upgrade';
  req.upgradeOrConnect = true;
  socket.emit('agentRemove');
  if (req.listenerCount(event) > 0) {
    socket.pause();
    socket._readableState.flowing = null;
    req.emit(event, answer, socket, head);
    req._close();
    return;
  }
  socket.destroy();
  if (!req._answered) {
    req.destroyed = true;
    req.emit('error', hangUp());
  }
  req._close();
}

// ---- the end ------------------------------------------------------------------------------------------------------

// Sockets end softly; another stream that stands in for one may know only how to be destroyed.
function endOf(socket) {
  if (typeof socket.destroySoon === 'function') socket.destroySoon();
  else socket.destroy();
}
// All of the answer was read by the program.
function answerEnded(link) {
  const { req, socket } = link;
  req._ended = true;
  if (link.over) return;
  if (!req.shouldKeepAlive) {
    if (socket.writable) endOf(socket);
    return;
  }
  if (req.writableFinished && !link.answer.aborted) release(link);
}
// The connection is free for another request.
function release(link) {
  const { req, socket } = link;
  if (link.over) return;
  if (!req.shouldKeepAlive || socket.destroyed || !socket.writable) {
    if (socket.writable) endOf(socket);
    return;
  }
  unwatch(link);
  socket.setTimeout?.(0);
  socket.resume();
  req.destroyed = true;
  process.nextTick(() => {
    req._close();
    if (socket._httpMessage === req) socket.emit('free');
  });
}
function ended(link) {
  const { req, socket } = link;
  // A body without a length ends here.
  handle(link, answerFinish(link.parser), undefined);
  if (link.answer === null && !link.hadError) {
    link.hadError = true;
    req.destroyed = true;
    req.emit('error', hangUp());
  }
  socket.end();
}
function closed(link) {
  const { req, answer } = link;
  if (link.over) return;
  unwatch(link);
  handleRest(link);
  req.destroyed = true;
  if (answer !== null) {
    if (!answer.complete) answer.destroy(hangUp('aborted'));
    req._close();
    if (!answer.aborted && answer.readable) answer.push(null);
    return;
  }
  if (!link.hadError) req.emit('error', req._error ?? hangUp());
  req._close();
}
function handleRest(link) {
  if (link.answer === null || link.answer.complete) return;
  link.over = false;
  handle(link, answerFinish(link.parser), undefined);
  link.over = true;
}

module.exports = { watch, MAX_HEADER };
