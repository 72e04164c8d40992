// SPDX-License-Identifier: MIT
// crypto.subtle: every algorithm once, known answers where there are some, and what is refused.
import { readFileSync } from 'node:fs';
import { KeyObject, createPrivateKey, createSecretKey, webcrypto } from 'node:crypto';

const { subtle } = globalThis.crypto;
const hex = (bytes) => Buffer.from(bytes).toString('hex');
const text = (value) => new TextEncoder().encode(value);
const data = text('some data');
const fails = async (name, promise) => console.log(name, await promise.then(() => 'passed', (error) => error.name.replace('Exception', 'Error')));

console.log(webcrypto.subtle === subtle, Object.prototype.toString.call(subtle));
for (const name of ['SHA-1', 'sha-256', { name: 'SHA-384' }, 'SHA-512']) console.log(hex(await subtle.digest(name, data)));

// HMAC and what follows from secrets
const mac = await subtle.importKey('raw', text('key'), { name: 'HMAC', hash: 'SHA-256' }, true, ['sign', 'verify']);
const tag = await subtle.sign('HMAC', mac, data);
console.log(hex(tag), await subtle.verify('HMAC', mac, tag, data), await subtle.verify('HMAC', mac, tag, text('other')));
console.log(mac.type, mac.algorithm, mac.usages, await subtle.exportKey('jwk', mac));
console.log((await subtle.generateKey({ name: 'HMAC', hash: 'SHA-512' }, false, ['sign'])).algorithm);
const password = await subtle.importKey('raw', text('pass'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
const salted = { name: 'PBKDF2', hash: 'SHA-256', salt: text('salt'), iterations: 10 };
console.log(hex(await subtle.deriveBits(salted, password, 160)));
const derived = await subtle.deriveKey(salted, password, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
console.log(derived.algorithm, hex(await subtle.exportKey('raw', derived)));
const root = await subtle.importKey('raw', text('root'), 'HKDF', false, ['deriveBits']);
console.log(hex(await subtle.deriveBits({ name: 'HKDF', hash: 'SHA-1', salt: text('s'), info: text('i') }, root, 256)));

// AES
for (const [name, rest] of [
  ['AES-CBC', { iv: new Uint8Array(16) }],
  ['AES-GCM', { iv: new Uint8Array(12), additionalData: text('more'), tagLength: 96 }],
  ['AES-CTR', { counter: new Uint8Array(16).fill(255), length: 64 }],
]) {
  const key = await subtle.importKey('raw', new Uint8Array(16).fill(7), name, true, ['encrypt', 'decrypt']);
  const sealed = await subtle.encrypt({ name, ...rest }, key, new Uint8Array(40));
  const opened = await subtle.decrypt({ name, ...rest }, key, sealed);
  console.log(name, hex(sealed), hex(opened) === '00'.repeat(40), (await subtle.exportKey('jwk', key)).alg);
}
const gcm = await subtle.generateKey({ name: 'AES-GCM', length: 192 }, true, ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']);
const nonce = { name: 'AES-GCM', iv: new Uint8Array(12) };
const broken = new Uint8Array(await subtle.encrypt(nonce, gcm, data));
broken[0] ^= 1;
await fails('a changed text', subtle.decrypt(nonce, gcm, broken));

// pairs
for (const [algorithm, usages, how] of [
  [{ name: 'ECDSA', namedCurve: 'P-256' }, ['sign', 'verify'], { name: 'ECDSA', hash: 'SHA-256' }],
  [{ name: 'ECDSA', namedCurve: 'P-521' }, ['sign', 'verify'], { name: 'ECDSA', hash: 'SHA-512' }],
  [{ name: 'Ed25519' }, ['sign', 'verify'], 'Ed25519'],
]) {
  const pair = await subtle.generateKey(algorithm, true, usages);
  const signature = await subtle.sign(how, pair.privateKey, data);
  const jwk = await subtle.exportKey('jwk', pair.privateKey);
  const again = await subtle.importKey('jwk', jwk, algorithm, true, ['sign']);
  const raw = await subtle.importKey('raw', await subtle.exportKey('raw', pair.publicKey), algorithm, true, ['verify']);
  const spki = await subtle.importKey('spki', await subtle.exportKey('spki', pair.publicKey), algorithm, true, ['verify']);
  const pkcs8 = await subtle.importKey('pkcs8', await subtle.exportKey('pkcs8', pair.privateKey), algorithm, true, ['sign']);
  console.log(pair.publicKey.algorithm, pair.publicKey.usages, pair.privateKey.usages, signature.byteLength, Object.keys(jwk).filter((key) => key !== 'alg').sort().join());
  console.log(
    await subtle.verify(how, raw, signature, data),
    await subtle.verify(how, spki, await subtle.sign(how, again, data), data),
    await subtle.verify(how, spki, await subtle.sign(how, pkcs8, text('other')), data),
  );
}
const pkcs8 = createPrivateKey(readFileSync('parts/key.pem')).export({ type: 'pkcs8', format: 'der' });
for (const [name, usage] of [['RSASSA-PKCS1-v1_5', 'sign'], ['RSA-PSS', 'sign'], ['RSA-OAEP', 'decrypt']]) {
  const key = await subtle.importKey('pkcs8', pkcs8, { name, hash: 'SHA-256' }, true, [usage]);
  const jwk = await subtle.exportKey('jwk', key);
  const other = usage === 'sign' ? 'verify' : 'encrypt';
  const shown = await subtle.importKey('jwk', { kty: 'RSA', n: jwk.n, e: jwk.e }, { name, hash: 'SHA-256' }, true, [other]);
  console.log(name, key.algorithm, jwk.alg);
  if (usage === 'sign') {
    const signature = await subtle.sign({ name, saltLength: 20 }, key, data);
    if (name !== 'RSA-PSS') console.log(hex(signature));
    console.log(await subtle.verify({ name, saltLength: 20 }, shown, signature, data));
  } else {
    const sealed = await subtle.encrypt({ name, label: text('label') }, shown, data);
    console.log(hex(await subtle.decrypt({ name, label: text('label') }, key, sealed)));
    await fails('another label', subtle.decrypt({ name }, key, sealed));
  }
}
for (const algorithm of [{ name: 'ECDH', namedCurve: 'P-384' }, { name: 'X25519' }]) {
  const [a, b] = [await subtle.generateKey(algorithm, true, ['deriveBits']), await subtle.generateKey(algorithm, true, ['deriveBits'])];
  const first = await subtle.deriveBits({ name: algorithm.name, public: b.publicKey }, a.privateKey, 256);
  const second = await subtle.deriveBits({ name: algorithm.name, public: a.publicKey }, b.privateKey, 256);
  console.log(algorithm.name, first.byteLength, hex(first) === hex(second));
}

// wrapped keys
const wrapping = await subtle.importKey('raw', new Uint8Array(16).fill(3), 'AES-KW', true, ['wrapKey', 'unwrapKey']);
const inside = await subtle.importKey('raw', new Uint8Array(16).fill(9), 'AES-CBC', true, ['encrypt']);
const wrapped = await subtle.wrapKey('raw', inside, wrapping, 'AES-KW');
console.log(hex(wrapped));
const unwrapped = await subtle.unwrapKey('raw', wrapped, wrapping, 'AES-KW', 'AES-CBC', true, ['encrypt']);
console.log(hex(await subtle.exportKey('raw', unwrapped)));
const asJson = await subtle.wrapKey('jwk', inside, gcm, nonce);
const back = await subtle.unwrapKey('jwk', asJson, gcm, nonce, 'AES-CBC', true, ['encrypt']);
console.log(hex(await subtle.exportKey('raw', back)));

// what is refused
const closed = await subtle.importKey('raw', new Uint8Array(16), 'AES-CBC', false, ['encrypt']);
await fails('not extractable', subtle.exportKey('raw', closed));
await fails('not for this', subtle.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, closed, data));
await fails('another algorithm', subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, closed, data));
await fails('an unknown algorithm', subtle.digest('MD5', data));
await fails('a short key', subtle.importKey('raw', new Uint8Array(5), 'AES-CBC', true, ['encrypt']));
await fails('a wrong usage', subtle.importKey('raw', new Uint8Array(16), 'AES-CBC', true, ['sign']));
await fails('no usage', subtle.generateKey({ name: 'AES-CBC', length: 128 }, true, []));
await fails('an unknown curve', subtle.generateKey({ name: 'ECDH', namedCurve: 'P-1' }, true, ['deriveBits']));
await fails('no key', subtle.importKey('spki', new Uint8Array(5), { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']));

console.log(KeyObject.from(mac).equals(createSecretKey(Buffer.from('key'))), mac instanceof CryptoKey, crypto instanceof Crypto);
