// node:crypto: digests in steps, as streams, keyed, copied; keys.
const crypto = require('node:crypto');
const { text } = require('stream/consumers');
const { Readable } = require('stream');
const { promisify } = require('util');
const log = (...args) => console.log(...args);
const tried = (call) => {
  try {
    log(call());
  } catch (error) {
    log(error.name, error.code, error.message);
  }
};
for (const name of ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha3-256', 'blake2b512', 'ripemd160', 'RSA-SHA256', 'SHA512']) {
  log(name, crypto.createHash(name).update('some ').update(Buffer.from('text')).digest('hex'));
  log(crypto.createHmac(name, 'key').update('text').digest('base64'));
}
log(crypto.createHash('sha256').digest().length, crypto.createHash('sha1').update('é', 'latin1').digest('base64url'));
const first = crypto.createHash('sha256').update('a');
const copy = first.copy();
log(first.update('b').digest('hex').slice(0, 8), copy.update('c').digest('hex').slice(0, 8));
tried(() => first.update('x'));
tried(() => first.digest());
tried(() => first.copy());
tried(() => crypto.createHash('nonsense'));
tried(() => crypto.createHash(5));
tried(() => crypto.createHmac('nonsense', 'k'));
tried(() => crypto.createHash('sha256').update(5));
const mac = crypto.createHmac('sha256', '');
log(mac.update('').digest('hex').slice(0, 16), mac.digest('hex') === '');
log(crypto.createHash('md5') instanceof crypto.Hash, crypto.createHash('md5') instanceof require('stream').Transform);
log(crypto.getHashes().includes('sha256'));
log(crypto.pbkdf2Sync('password', 'salt', 1000, 32, 'sha256').toString('hex'));
log(crypto.scryptSync('password', 'salt', 32).toString('hex'), crypto.scryptSync('p', 's', 16, { N: 1024, p: 2 }).toString('hex'));
log(Buffer.from(crypto.hkdfSync('sha512', 'key', 'salt', 'info', 64)).toString('hex'));
log(Buffer.from(crypto.hkdfSync('sha256', 'key', '', '', 10)).toString('hex'));
tried(() => crypto.pbkdf2Sync('p', 's', 0, 10, 'sha1'));
tried(() => crypto.pbkdf2Sync('p', 's', 1, 10, 'none'));
tried(() => crypto.scryptSync('p', 's', 10, { N: 3 }).length);
(async () => {
  log((await promisify(crypto.pbkdf2)('password', 'salt', 1000, 20, 'sha512')).toString('hex'));
  log((await promisify(crypto.scrypt)('password', 'salt', 20)).toString('hex'));
  log(Buffer.from(await promisify(crypto.hkdf)('sha1', 'k', 's', 'i', 12)).toString('hex'));
  const stream = Readable.from(['some ', 'text']).pipe(crypto.createHash('sha256'));
  stream.setEncoding('hex');
  log(await text(stream));
})();
