// SPDX-License-Identifier: MIT
// node:stream: the npm package readable-stream, which is Node's own, with what it lacks: the ways to and from web streams.
'use strict';

const stream = load('npm:readable-stream/lib/stream.js');
const { Readable, Writable, Duplex } = stream;

Readable.toWeb = (readable, options) => load('stream_adapters').readableToWeb(readable, options);
Readable.fromWeb = (web, options) => load('stream_adapters').readableFromWeb(web, options);
Writable.toWeb = (writable) => load('stream_adapters').writableToWeb(writable);
Writable.fromWeb = (web, options) => load('stream_adapters').writableFromWeb(web, options);
Duplex.toWeb = (duplex) => ({ readable: Readable.toWeb(duplex), writable: Writable.toWeb(duplex) });
Duplex.fromWeb = (pair, options) => load('stream_adapters').duplexFromWeb(pair, options);

stream.duplexPair = (options) => load('stream_pair').duplexPair(options);

module.exports = stream;
