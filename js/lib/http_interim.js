// SPDX-License-Identifier: MIT
// What a ServerResponse can send besides its head and body: answers before the answer, and trailers behind it.
'use strict';

const { native } = load('http_link');
const { TOKEN, BAD_VALUE, lowerOf, checkValue } = load('http_names');
const { flatten } = load('http_headers');
const { codes, validateFunction } = load('errors');

const LINK = /^(?:<[^>]*>)(?:\s*;\s*[^;"\s]+(?:=(")?[^;"\s]*\1)?)*$/;

function install(ServerResponse) {
  ServerResponse.prototype.addTrailers = function (headers) {
    const list = flatten(headers);
    let text = '';
    for (let i = 0; i < list.length; i += 2) {
      if (typeof list[i] !== 'string' || !TOKEN.test(list[i])) throw new codes.ERR_INVALID_HTTP_TOKEN('Trailer name', list[i]);
      const values = [].concat(list[i + 1]);
      for (const value of this._link.server.uniqueHeaders?.has(list[i].toLowerCase()) ? [values.join('; ')] : values) {
        if (BAD_VALUE.test(value)) throw new codes.ERR_INVALID_CHAR('trailer content', list[i]);
        text += `${list[i]}: ${value}\r\n`;
      }
    }
    this._trailer = text;
  };
  function interim(response, text, callback) {
    if (response.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('write');
    const id = response._link.id;
    if (id >= 0 && response._link.res === response) native.send(id, 0, text);
    if (typeof callback === 'function') process.nextTick(callback);
  }
  ServerResponse.prototype.writeContinue = function (callback) {
    interim(this, 'HTTP/1.1 100 Continue\r\n\r\n', callback);
  };
  ServerResponse.prototype.writeProcessing = function (callback) {
    interim(this, 'HTTP/1.1 102 Processing\r\n\r\n', callback);
  };
  ServerResponse.prototype.writeEarlyHints = function (hints, callback) {
    if (hints === null || typeof hints !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('hints', 'object', hints);
    if (callback !== undefined) validateFunction(callback, 'callback');
    const links = [].concat(hints.link ?? []);
    if (links.length === 0) return;
    for (const link of links) if (!LINK.test(link)) throw new codes.ERR_INVALID_ARG_VALUE('hints', link, 'must be an array or string of format "</styles.css>; rel=preload; as=style"');
    let text = `HTTP/1.1 103 Early Hints\r\nLink: ${links.join(', ')}\r\n`;
    for (const [name, value] of Object.entries(hints)) {
      if (lowerOf(name) !== 'link') text += `${name}: ${value}\r\n`;
      checkValue(name, value);
    }
    interim(this, `${text}\r\n`, callback);
  };
}

module.exports = { install };
