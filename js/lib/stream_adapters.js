// SPDX-License-Identifier: MIT
// Between Node's streams and web streams, in both directions. Back-pressure, ends and errors go through.
'use strict';

const { codes, AbortError } = load('errors');
const web = load('stream_web');

const asBytes = (chunk) => ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) : chunk;

function readableToWeb(readable, options = {}) {
  const { finished } = load('stream');
  if (typeof readable?._readableState !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('streamReadable', 'stream.Readable', readable);
  const objects = readable.readableObjectMode;
  const strategy = options.strategy ?? (objects
    ? new web.CountQueuingStrategy({ highWaterMark: readable.readableHighWaterMark })
    : { highWaterMark: readable.readableHighWaterMark, size: (chunk) => chunk.byteLength ?? chunk.length ?? 1 });
  let cancelled = false;
  return new web.ReadableStream({
    start(controller) {
      readable.pause();
      const forget = finished(readable, { writable: false }, (error) => {
        forget();
        readable.on('error', () => {}); // what comes late is nobody's
        if (cancelled) return;
        if (error) {
          controller.error(error.code === 'ERR_STREAM_PREMATURE_CLOSE' ? new AbortError(undefined, { cause: error }) : error);
        } else {
          controller.close();
        }
      });
      readable.on('data', (chunk) => {
        controller.enqueue(objects ? chunk : asBytes(chunk));
        if (controller.desiredSize <= 0) readable.pause();
      });
      readable.pause();
    },
    pull() { readable.resume(); },
    cancel(reason) {
      cancelled = true;
      readable.destroy(reason instanceof Error ? reason : undefined);
    },
  }, strategy);
}

function readableFromWeb(stream, options = {}) {
  const { Readable } = load('stream');
  if (typeof stream?.getReader !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('readableStream', 'ReadableStream', stream);
  const reader = stream.getReader();
  let ended = false;
  const readable = new Readable({
    objectMode: options.objectMode ?? false, highWaterMark: options.highWaterMark, encoding: options.encoding, signal: options.signal,
    read() {
      reader.read().then(({ done, value }) => {
        ended = done;
        if (done) readable.push(null);
        else readable.push(value);
      }, (error) => {
        ended = true;
        readable.destroy(error);
      });
    },
    destroy(error, callback) {
      const done = () => process.nextTick(callback, error);
      if (ended) done();
      else reader.cancel(error ?? undefined).then(done, done);
    },
  });
  reader.closed.catch((error) => {
    ended = true;
    readable.destroy(error);
  });
  return readable;
}

function writableToWeb(writable) {
  const { finished } = load('stream');
  if (typeof writable?._writableState !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('streamWritable', 'stream.Writable', writable);
  const objects = writable.writableObjectMode;
  let drained = null; // of the write that waits for room
  let closed = null;
  return new web.WritableStream({
    start(controller) {
      const forget = finished(writable, { readable: false }, (error) => {
        forget();
        writable.on('error', () => {});
        if (error) {
          drained?.reject(error);
          closed?.reject(error);
          controller.error(error);
        } else if (closed !== null) {
          closed.resolve();
        } else {
          controller.error(new AbortError()); // ended behind the stream's back
        }
        drained = closed = null;
      });
      writable.on('drain', () => {
        drained?.resolve();
        drained = null;
      });
    },
    write(chunk) {
      if (writable.destroyed) return undefined;
      const room = writable.write(objects || !(chunk instanceof ArrayBuffer) ? chunk : new Uint8Array(chunk));
      if (room && !writable.writableNeedDrain) return undefined;
      drained = Promise.withResolvers();
      return drained.promise;
    },
    close() {
      closed = Promise.withResolvers();
      const { promise } = closed;
      writable.end();
      return promise;
    },
    abort(reason) {
      writable.destroy(reason instanceof Error ? reason : new AbortError(undefined, { cause: reason }));
    },
  }, objects ? new web.CountQueuingStrategy({ highWaterMark: writable.writableHighWaterMark })
    : { highWaterMark: writable.writableHighWaterMark, size: (chunk) => chunk?.byteLength ?? chunk?.length ?? 1 });
}

function writableFromWeb(stream, options = {}) {
  const { Writable } = load('stream');
  if (typeof stream?.getWriter !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('writableStream', 'WritableStream', stream);
  const writer = stream.getWriter();
  let ended = false;
  const writable = new Writable({
    objectMode: options.objectMode ?? false, highWaterMark: options.highWaterMark, decodeStrings: options.decodeStrings ?? true,
    signal: options.signal,
    write(chunk, encoding, callback) {
      writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
    },
    final(callback) {
      ended = true;
      writer.close().then(() => callback(), callback);
    },
    destroy(error, callback) {
      const done = () => process.nextTick(callback, error);
      if (ended && error === null) done();
      else writer.abort(error ?? undefined).then(done, done);
    },
  });
  writer.closed.then(() => {
    if (!ended) writable.destroy(new codes.ERR_STREAM_PREMATURE_CLOSE());
  }, (error) => {
    ended = true;
    writable.destroy(error);
  });
  return writable;
}

function duplexFromWeb(pair, options = {}) {
  const { Duplex } = load('stream');
  const readable = readableFromWeb(pair.readable, options);
  const writable = writableFromWeb(pair.writable, options);
  return Duplex.from({ readable, writable });
}

module.exports = { readableToWeb, readableFromWeb, writableToWeb, writableFromWeb, duplexFromWeb };
