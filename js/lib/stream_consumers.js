// SPDX-License-Identifier: MIT
// node:stream/consumers: a whole stream (Node's, a web stream, or anything that can be iterated) as one value.
'use strict';

const { Buffer } = load('buffer');
const { codes } = load('errors');

function bytesOf(chunk) {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  if (ArrayBuffer.isView(chunk)) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return Buffer.from(chunk);
  throw new codes.ERR_INVALID_ARG_TYPE('chunk', ['string', 'Buffer', 'TypedArray', 'DataView'], chunk);
}

async function buffer(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(bytesOf(chunk));
  return Buffer.concat(chunks);
}
async function arrayBuffer(stream) {
  const whole = await buffer(stream);
  return whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength);
}
async function blob(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new (load('blob').Blob)(chunks);
}
async function text(stream) {
  const decoder = new TextDecoder();
  let whole = '';
  for await (const chunk of stream) whole += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  return whole + decoder.decode();
}
async function json(stream) {
  return JSON.parse(await text(stream));
}

module.exports = { arrayBuffer, blob, buffer, json, text };
