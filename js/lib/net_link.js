// SPDX-License-Identifier: MIT
// The way between C's links and the classes of node:net and node:child_process: a Handle is one link. Its owner sets the functions that it
// wants to be called.
'use strict';

const { CONNECTED, DATA, ENDED, FAILED, SENT, ACCEPTED } = load('constants').netEvent;
const { fromBytes } = load('buffer');

const handles = []; // by C's number
const native = binding.net(receive);

class Handle {
  constructor(id) {
    this.id = id;
    this.reading = false;
    this.refed = true;
    this.bytesRead = 0;
    this.bytesWritten = 0;
    this.onConnect = this.onData = this.onEnd = this.onFail = this.onSent = this.onAccept = this.onDatagram = null;
    handles[id] = this;
  }
  get fd() { return this.id < 0 ? -1 : native.fd(this.id); }
  readStart() {
    this.reading = true;
    return this.id < 0 ? -9 : native.read(this.id, true);
  }
  readStop() {
    this.reading = false;
    if (this.id >= 0) native.read(this.id, false);
  }
  // 0: all of it is with the kernel; more: `onSent` tells; less: it has failed.
  write(bytes) {
    if (this.id < 0) return -9;
    const queued = native.write(this.id, bytes);
    if (queued >= 0) this.bytesWritten += bytes.length;
    return queued;
  }
  shutdown() { return this.id < 0 ? -9 : native.shutdown(this.id); }
  // done() comes when everything else of this turn is over.
  close(done, reset = false) {
    if (this.id >= 0) {
      handles[this.id] = undefined;
      native.close(this.id, reset);
      this.id = -1;
    }
    this.reading = false;
    if (done !== undefined) setImmediate(done);
  }
  ref() { this.setRef(true); }
  unref() { this.setRef(false); }
  setRef(on) {
    this.refed = on;
    if (this.id >= 0) native.unref(this.id, !on);
  }
  hasRef() { return this.refed && this.id >= 0; }
  local() { return this.id < 0 ? undefined : native.local(this.id); }
  remote() { return this.id < 0 ? undefined : native.remote(this.id); }
}
const { setImmediate } = load('sched');

function receive(code, value) {
  const handle = handles[Math.floor(code / 8)];
  if (handle === undefined) return;
  switch (code % 8) {
    case CONNECTED:
      handle.onConnect(value);
      break;
    case DATA:
      if (handle.onDatagram !== null) {
        handle.onDatagram(fromBytes(value[0]), value[1], value[2], value[3]);
        break;
      }
      handle.bytesRead += value.length;
      handle.onData?.(fromBytes(value));
      break;
    case ENDED:
      handle.onEnd?.();
      break;
    case FAILED:
      handle.onFail?.(value);
      break;
    case SENT:
      handle.onSent?.(value);
      break;
    case ACCEPTED:
      if (value >= 0) handle.onAccept(new Handle(value));
      // Without descriptors the listener rests for a moment.
      else load('sched').setTimeout(() => { if (handle.id >= 0) native.again(handle.id); }, 100).unref();
      break;
  }
}

// ---- errors -------------------------------------------------------------------------------------------------------

const names = (number) => binding.errorName(-number);

// "write EPIPE"
function errnoError(number, syscall, original) {
  const code = names(number)[0];
  const error = new Error(original ? `${syscall} ${code} ${original}` : `${syscall} ${code}`);
  return Object.assign(error, { errno: number, code, syscall });
}
// "connect ECONNREFUSED 127.0.0.1:80"; with a text: "listen EADDRINUSE: address already in use 127.0.0.1:80"
function placeError(number, syscall, address, port, withText, additional) {
  const found = names(number);
  const code = found[0];
  let place = '';
  if (port && port > 0) place = ` ${address}:${port}`;
  else if (address) place = ` ${address}`;
  if (additional) place += ` - Local (${additional})`;
  const error = new Error(`${syscall} ${code}${withText ? `: ${found[1]}` : ''}${place}`);
  Object.assign(error, { errno: number, code, syscall, address });
  if (port) error.port = port;
  return error;
}

const adopt = (fd, listens = false) => {
  const id = native.adopt(fd, listens);
  return id < 0 ? id : new Handle(id);
};

module.exports = { Handle, native, adopt, errnoError, placeError };
