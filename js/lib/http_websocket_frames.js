// SPDX-License-Identifier: MIT
// The frames of RFC 6455, as a client sends and receives them. No extension is ever agreed on, so the reserved bits are zero.
'use strict';

const { Buffer } = load('buffer');

const OP = { CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 };
const MOST_CONTROL = 125; // bytes in a control frame
const MOST = 2 ** 31 - 1; // bytes in a message

// ---- sending ------------------------------------------------------------------------------------------------------

const keys = new Uint8Array(4096); // random numbers for the masks of the next frames
let keysAt = keys.length;

// A whole message or a control frame, masked with a key that nobody can foretell.
function frame(op, bytes) {
  if (keysAt === keys.length) {
    load('crypto').crypto.getRandomValues(keys);
    keysAt = 0;
  }
  const { length } = bytes;
  const head = length < 126 ? 6 : length < 65536 ? 8 : 14;
  const out = Buffer.allocUnsafe(head + length);
  out[0] = 0x80 | op;
  if (head === 6) {
    out[1] = 0x80 | length;
  } else if (head === 8) {
    out[1] = 0x80 | 126;
    out.writeUInt16BE(length, 2);
  } else {
    out[1] = 0x80 | 127;
    out.writeUInt32BE(Math.floor(length / 2 ** 32), 2);
    out.writeUInt32BE(length % 2 ** 32, 6);
  }
  for (let i = 0; i < 4; i++) out[head - 4 + i] = keys[keysAt + i];
  for (let i = 0; i < length; i++) out[head + i] = bytes[i] ^ keys[keysAt + (i & 3)];
  keysAt += 4;
  return out;
}

// ---- receiving ----------------------------------------------------------------------------------------------------

// Why a connection must fail: the code that the peer is told.
class Fault extends Error {
  constructor(code, text) {
    super(text);
    this.status = code;
  }
}
const isCode = (code) => (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);

function textOf(bytes) {
  if (!binding.utf8Valid(bytes, 0, bytes.length)) throw new Fault(1007, 'a text is not UTF-8');
  return binding.utf8Decode(bytes, 0, bytes.length);
}

// Pieces in any sizes go in, messages come out: on.text(string), on.binary(Uint8Array), on.ping(bytes), on.close(code, reason). Throws a
// Fault; then, and after a close, it takes nothing more.
class Receiver {
  #on;
  #pieces = []; // what came and was not used
  #have = 0; // bytes in the pieces
  #need = 2; // bytes that the next step takes
  #step = 0; // 0: the first two bytes, 1: a longer length, 2: the payload
  #final = false;
  #op = 0;
  #kind = 0; // of the message whose fragments come; 0: none
  #parts = []; // its fragments
  #size = 0;
  #over = false;
  constructor(on) {
    this.#on = on;
  }
  add(piece) {
    if (this.#over) return;
    if (piece.length > 0) this.#pieces.push(piece);
    this.#have += piece.length;
    try {
      while (!this.#over && this.#have >= this.#need) this.#take(this.#next(this.#need));
    } catch (error) {
      this.#over = true;
      throw error;
    }
  }
  // The first `count` bytes of the pieces. Copies only what lies in several.
  #next(count) {
    this.#have -= count;
    const first = this.#pieces[0];
    if (count === 0) return new Uint8Array(0);
    if (first.length > count) {
      this.#pieces[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    if (first.length === count) return this.#pieces.shift();
    const out = new Uint8Array(count);
    let at = 0;
    let used = 0;
    while (at < count) {
      const piece = this.#pieces[used];
      const part = piece.length > count - at ? piece.subarray(0, count - at) : piece;
      out.set(part, at);
      at += part.length;
      if (part.length === piece.length) used++;
      else this.#pieces[used] = piece.subarray(part.length);
    }
    this.#pieces.splice(0, used);
    return out;
  }
  #take(bytes) {
    if (this.#step === 0) {
      this.#begin(bytes[0], bytes[1]);
    } else if (this.#step === 1) {
      let length = 0;
      for (let i = 0; i < bytes.length; i++) length = length * 256 + bytes[i];
      if (bytes.length === 8 && bytes[0] > 127) throw new Fault(1002, 'the length of a frame is negative');
      if (length < (bytes.length === 8 ? 65536 : 126)) throw new Fault(1002, 'the length of a frame is not in its shortest form');
      this.#expect(length);
    } else {
      this.#step = 0;
      this.#need = 2;
      if (this.#op >= OP.CLOSE) this.#control(bytes);
      else this.#fragment(bytes);
    }
  }
  #begin(first, second) {
    const length = second & 127;
    this.#final = first > 127;
    this.#op = first & 15;
    if ((first & 0x70) !== 0) throw new Fault(1002, 'a frame has reserved bits');
    if (second > 127) throw new Fault(1002, 'a frame from a server is masked');
    if (this.#op >= OP.CLOSE) {
      if (this.#op > OP.PONG) throw new Fault(1002, `there is no frame of kind ${this.#op}`);
      if (!this.#final || length > MOST_CONTROL) throw new Fault(1002, 'a control frame is too long or a fragment');
    } else {
      if (this.#op > OP.BINARY) throw new Fault(1002, `there is no frame of kind ${this.#op}`);
      if ((this.#op === OP.CONTINUATION) !== (this.#kind !== 0)) throw new Fault(1002, 'fragments of messages are out of order');
      if (this.#op !== OP.CONTINUATION) this.#kind = this.#op;
    }
    if (length < 126) {
      this.#expect(length);
    } else {
      this.#step = 1;
      this.#need = length === 126 ? 2 : 8;
    }
  }
  #expect(length) {
    if (this.#size + length > MOST) throw new Fault(1009, 'a message is too long');
    this.#step = 2;
    this.#need = length;
  }
  #fragment(bytes) {
    if (bytes.length > 0) this.#parts.push(bytes);
    this.#size += bytes.length;
    if (!this.#final) return;
    // The program gets a copy of its own: a fragment may lie in a piece with others.
    const whole = new Uint8Array(this.#size);
    for (let i = 0, at = 0; i < this.#parts.length; at += this.#parts[i++].length) whole.set(this.#parts[i], at);
    const kind = this.#kind;
    this.#parts = [];
    this.#kind = this.#size = 0;
    if (kind === OP.TEXT) this.#on.text(textOf(whole));
    else this.#on.binary(whole);
  }
  #control(bytes) {
    if (this.#op === OP.PING) {
      this.#on.ping(bytes);
    } else if (this.#op === OP.CLOSE) {
      if (bytes.length === 1) throw new Fault(1002, 'a close has half a code');
      const code = bytes.length === 0 ? 1005 : bytes[0] * 256 + bytes[1];
      if (bytes.length > 0 && !isCode(code)) throw new Fault(1002, `a close has the code ${code}`);
      const reason = textOf(bytes.subarray(2));
      this.#over = true;
      this.#on.close(code, reason);
    }
  }
}

module.exports = { OP, frame, Receiver, Fault };
