// SPDX-License-Identifier: MIT
// fs.readv and fs.writev: many buffers, one call of the system. The bytes are copied once more on their way.
'use strict';

const fs = load('fs');
const { codes, validateFunction } = load('errors');
const { Buffer } = load('buffer');
const { run, runSync, readPlan, writePlan, toFd } = fs[Symbol.for('vigil.host')];

const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
function check(fd, buffers) {
  toFd(fd);
  if (!Array.isArray(buffers) || !buffers.every((one) => ArrayBuffer.isView(one))) {
    throw new codes.ERR_INVALID_ARG_TYPE('buffers', 'ArrayBufferView[]', buffers);
  }
  return buffers.reduce((sum, one) => sum + one.byteLength, 0);
}
function scatter(bytes, count, buffers) {
  let at = 0;
  for (let i = 0; i < buffers.length && at < count; i++) {
    const piece = bytes.subarray(at, Math.min(count, at + buffers[i].byteLength));
    bytesOf(buffers[i]).set(piece);
    at += piece.length;
  }
}
// Only a number is a place.
const placeOf = (position) => (typeof position === 'number' ? position : null);
function reading(fd, buffers, position) {
  const room = Buffer.allocUnsafeSlow(check(fd, buffers));
  return { room, it: room.length === 0 ? undefined : readPlan(fd, room, 0, room.length, placeOf(position)) };
}
function writing(fd, buffers, position) {
  check(fd, buffers);
  return writePlan(fd, Buffer.concat(buffers.map(bytesOf)), 0, null, placeOf(position));
}

function readvSync(fd, buffers, position) {
  const { room, it } = reading(fd, buffers, position);
  const count = it === undefined ? 0 : runSync(it);
  scatter(room, count, buffers);
  return count;
}
function writevSync(fd, buffers, position) {
  return runSync(writing(fd, buffers, position));
}
function readv(fd, buffers, position, callback = position) {
  const { room, it } = reading(fd, buffers, position);
  validateFunction(callback, 'cb');
  if (it === undefined) {
    process.nextTick(callback, null, 0, buffers);
    return;
  }
  run(it, (error, count = 0) => {
    scatter(room, count, buffers);
    callback(error, count, buffers);
  });
}
function writev(fd, buffers, position, callback = position) {
  const it = writing(fd, buffers, position);
  validateFunction(callback, 'cb');
  run(it, (error, count = 0) => callback(error, count, buffers));
}
for (const [call, count] of [[readv, 'bytesRead'], [writev, 'bytesWritten']]) {
  Object.defineProperty(call, Symbol.for('nodejs.util.promisify.custom'), {
    configurable: true,
    value: (fd, buffers, position) => new Promise((resolve, reject) => {
      call(fd, buffers, position, (error, number) => (error ? reject(error) : resolve({ [count]: number, buffers })));
    }),
  });
}

module.exports = { readv, writev, readvSync, writevSync };
