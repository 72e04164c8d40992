// SPDX-License-Identifier: MIT
// node:stream/web, and its globals: the npm package web-streams-polyfill (the reference implementation), and the streams over
// TextEncoder and TextDecoder.
'use strict';

const streams = load('npm:web-streams-polyfill');
const { TransformStream } = streams;

class TextEncoderStream {
  #transform;
  constructor() {
    let high = ''; // the first half of a pair whose second is in the next chunk
    const encoder = new TextEncoder();
    this.#transform = new TransformStream({
      transform(chunk, controller) {
        let text = high + `${chunk}`;
        high = '';
        const last = text.length > 0 ? text.charCodeAt(text.length - 1) : 0;
        if (last >= 0xd800 && last <= 0xdbff) {
          high = text.slice(-1);
          text = text.slice(0, -1);
        }
        if (text !== '') controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        if (high !== '') controller.enqueue(new Uint8Array([0xef, 0xbf, 0xbd]));
      },
    });
  }
  get encoding() {
    void this.#transform;
    return 'utf-8';
  }
  get readable() { return this.#transform.readable; }
  get writable() { return this.#transform.writable; }
}

class TextDecoderStream {
  #transform;
  #decoder;
  constructor(label = 'utf-8', options = undefined) {
    const decoder = this.#decoder = new TextDecoder(label, options);
    this.#transform = new TransformStream({
      transform(chunk, controller) {
        const buffer = ArrayBuffer.isView(chunk) ? chunk.buffer : chunk;
        // Shared memory has no class here: it comes from WebAssembly.
        if (!(buffer instanceof ArrayBuffer) && buffer?.[Symbol.toStringTag] !== 'SharedArrayBuffer') {
          throw new TypeError('TextDecoderStream: a chunk is neither an ArrayBuffer nor a view of one');
        }
        const text = decoder.decode(chunk, { stream: true });
        if (text !== '') controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== '') controller.enqueue(text);
      },
    });
  }
  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#decoder.fatal; }
  get ignoreBOM() { return this.#decoder.ignoreBOM; }
  get readable() { return this.#transform.readable; }
  get writable() { return this.#transform.writable; }
}
load('idl').expose(TextEncoderStream, TextDecoderStream);

module.exports = { ...streams, TextEncoderStream, TextDecoderStream };
delete module.exports.__esModule;
