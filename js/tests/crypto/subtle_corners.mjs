// SPDX-License-Identifier: MIT
// Corners of crypto.subtle: salts of no bytes, inherited members, usages of other algorithms, data that is moved away during the call.
// A newer Node than 20 wrote the output.
import { pbkdf2Sync, pbkdf2 } from 'node:crypto';

const { subtle } = crypto;
const hex = (bytes) => Buffer.from(bytes).toString('hex');
const tried = async (run) => {
  try {
    return await run();
  } catch (error) {
    return error.name;
  }
};

for (const hash of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {
  for (const password of ['', 'a password']) {
    const key = await subtle.importKey('raw', Buffer.from(password), 'PBKDF2', false, ['deriveBits']);
    const salt = new Uint8Array(0);
    console.log(hash, password, hex(await subtle.deriveBits({ name: 'PBKDF2', hash, salt, iterations: 5 }, key, 256)));
    const digest = hash.replace('-', '').toLowerCase();
    console.log(pbkdf2Sync(password, '', 5, 20, digest).toString('hex'),
                await new Promise((resolve) => pbkdf2(password, '', 5, 20, digest, (error, bytes) => resolve(error ?? bytes.toString('hex')))));
  }
}

const inherited = Object.create({ name: 'HMAC', hash: 'SHA-256' });
const key = await subtle.importKey('raw', new Uint8Array(32), inherited, true, ['sign']);
console.log(key.algorithm.name, key.algorithm.hash.name, key.algorithm.length);

const make = (usages) => tried(async () => (await subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, usages)).usages.join());
console.log(await make(['decrypt', 'encrypt', 'encrypt']), await make(['encapsulateKey']), await make(['encrypt', 'decapsulateBits']), await make(['nothing']), await make([]));

const secret = await subtle.importKey('raw', new Uint8Array(16), 'AES-CBC', false, ['encrypt']);
const data = new Uint8Array(40);
const algorithm = {
  get name() {
    structuredClone(data.buffer, { transfer: [data.buffer] });
    return 'AES-CBC';
  },
  iv: new Uint8Array(16),
};
console.log(hex(await subtle.encrypt(algorithm, secret, data)) === hex(await subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, secret, new Uint8Array(0))));

for (const [name, usages, other] of [['Ed25519', ['sign', 'verify'], ['sign']], ['X25519', ['deriveBits'], ['deriveBits']]]) {
  const [one, two] = await Promise.all([0, 1].map(async () => subtle.exportKey('jwk', (await subtle.generateKey(name, true, usages)).privateKey)));
  const bring = (jwk) => tried(async () => (await subtle.importKey('jwk', jwk, name, true, other)).type);
  console.log(name, await bring(one), await bring({ ...one, x: two.x }));
}
