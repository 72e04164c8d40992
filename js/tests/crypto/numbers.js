// SPDX-License-Identifier: MIT
// Diffie-Hellman with numbers, primes, DSA, CCM and the ciphers that take a password: what Node 20 says of each.
'use strict';
const crypto = require('crypto');
const show = (name, call) => {
  try {
    console.log(name, call());
  } catch (error) {
    console.log(name, error.name, error.code, error.message);
  }
};

// Two sides of a known group agree, and a third one that has the numbers of the first agrees, too.
const alice = crypto.getDiffieHellman('modp14');
const bob = crypto.createDiffieHellman(alice.getPrime(), alice.getGenerator());
alice.generateKeys();
bob.generateKeys();
show('secret', () => alice.computeSecret(bob.getPublicKey()).equals(bob.computeSecret(alice.getPublicKey())));
show('length', () => alice.computeSecret(bob.getPublicKey()).length);
const third = crypto.createDiffieHellman(alice.getPrime('hex'), 'hex', '02', 'hex');
third.setPrivateKey(alice.getPrivateKey('base64'), 'base64');
show('third', () => third.computeSecret(bob.getPublicKey('latin1'), 'latin1', 'hex') === bob.computeSecret(alice.getPublicKey()).toString('hex'));
show('public of a private number', () => third.generateKeys().equals(alice.getPublicKey()));
show('verdict', () => [alice.verifyError, bob.verifyError]);
show('kinds', () => [alice instanceof crypto.DiffieHellmanGroup, bob instanceof crypto.DiffieHellman, typeof alice.setPrivateKey]);
show('without new', () => crypto.DiffieHellman(alice.getPrime()).getGenerator('hex'));
for (const name of ['modp1', 'modp2', 'modp5', 'modp15', 'MODP16', 'modp17', 'modp18']) {
  show(name, () => crypto.createHash('sha256').update(crypto.createDiffieHellmanGroup(name).getPrime()).digest('hex'));
}
show('unknown group', () => crypto.getDiffieHellman('modp3'));
show('too small', () => bob.computeSecret(''));
show('no key', () => crypto.getDiffieHellman('modp14').getPrivateKey());
show('no public key', () => crypto.getDiffieHellman('modp14').getPublicKey());
show('generator', () => crypto.createDiffieHellman('abcdef', 'hex', 1));
show('generator of another kind', () => crypto.createDiffieHellman('abcdef', 'hex', {}));
show('no prime', () => crypto.createDiffieHellman({}));
show('few bits', () => crypto.createDiffieHellman(1));

// The same as keys.
const one = crypto.generateKeyPairSync('dh', { group: 'modp14' });
const two = crypto.generateKeyPairSync('dh', { prime: alice.getPrime() });
show('type', () => [one.publicKey.asymmetricKeyType, one.privateKey.asymmetricKeyDetails]);
show('stateless', () => crypto.diffieHellman({ privateKey: one.privateKey, publicKey: two.publicKey })
  .equals(crypto.diffieHellman({ privateKey: two.privateKey, publicKey: one.publicKey })));
show('written and read', () => crypto.createPublicKey(one.publicKey.export({ type: 'spki', format: 'pem' })).equals(one.publicKey));
show('nothing asked', () => crypto.generateKeyPairSync('dh', {}));
show('both asked', () => crypto.generateKeyPairSync('dh', { group: 'modp14', primeLength: 8 }));

// Primes.
show('prime', () => crypto.checkPrimeSync(crypto.generatePrimeSync(64)));
show('of three bits', () => crypto.generatePrimeSync(3, { bigint: true }));
show('safe', () => crypto.checkPrimeSync((crypto.generatePrimeSync(40, { safe: true, bigint: true }) - 1n) / 2n));
show('step', () => crypto.generatePrimeSync(32, { add: 12n, rem: 11n, bigint: true }) % 12n);
show('no prime', () => [crypto.checkPrimeSync(91n), crypto.checkPrimeSync(Buffer.from([1])), crypto.checkPrimeSync(2n ** 127n - 1n)]);
show('rest', () => crypto.generatePrimeSync(32, { add: 7n, rem: 7n }));
show('size', () => crypto.generatePrimeSync(0));
show('candidate', () => crypto.checkPrimeSync(7));

// DSA.
const dsa = crypto.generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 });
show('dsa', () => [dsa.publicKey.asymmetricKeyType, dsa.privateKey.asymmetricKeyDetails]);
show('signed', () => crypto.verify('sha1', Buffer.from('data'), dsa.publicKey, crypto.sign('sha1', Buffer.from('data'), dsa.privateKey)));

// RSA-PSS: the salt is as long as the digest.
show('pss', () => crypto.generateKeyPairSync('rsa-pss', { modulusLength: 512, hashAlgorithm: 'sha256' }).publicKey.asymmetricKeyDetails);

// CCM: the vector of RFC 3610, packet 1.
const key = Buffer.from('c0c1c2c3c4c5c6c7c8c9cacbcccdcecf', 'hex');
const nonce = Buffer.from('00000003020100a0a1a2a3a4a5', 'hex');
const aside = Buffer.from('0001020304050607', 'hex');
const text = Buffer.from('08090a0b0c0d0e0f101112131415161718191a1b1c1d1e', 'hex');
const cipher = crypto.createCipheriv('aes-128-ccm', key, nonce, { authTagLength: 8 });
cipher.setAAD(aside, { plaintextLength: text.length });
show('ccm', () => cipher.update(text, undefined, 'hex') + cipher.final('hex'));
show('tag', () => cipher.getAuthTag().toString('hex'));
const open = (tag) => {
  const decipher = crypto.createDecipheriv('aes-128-ccm', key, nonce, { authTagLength: 8 });
  decipher.setAuthTag(Buffer.from(tag, 'hex'));
  decipher.setAAD(aside, { plaintextLength: text.length });
  return decipher.update('588c979a61c663d2f066d0c2c0f989806d5f6b61dac384', 'hex', 'hex') + decipher.final('hex');
};
show('opened', () => open('17e8d12cfdf926e0'));
show('another tag', () => open('17e8d12cfdf926e1'));
show('no length of tag', () => crypto.createCipheriv('aes-128-ccm', key, nonce));
show('odd length of tag', () => crypto.createCipheriv('aes-128-ccm', key, nonce, { authTagLength: 5 }));
show('long vector', () => crypto.createCipheriv('aes-128-ccm', key, Buffer.alloc(14), { authTagLength: 8 }));
show('no length of text', () => crypto.createCipheriv('aes-128-ccm', key, nonce, { authTagLength: 8 }).setAAD(aside));
show('cipher', () => crypto.getCipherInfo('aes-128-ccm'));
show('by number', () => crypto.getCipherInfo(crypto.getCipherInfo('aes-128-cbc').nid).name);

// A password in place of a key.
process.on('warning', (warning) => console.log(warning.name, warning.code, warning.message));
const old = crypto.createCipher('aes-192-cbc', 'secret');
const packed = old.update('text', 'utf8', 'hex') + old.final('hex');
show('old', () => packed);
const back = crypto.createDecipher('aes-192-cbc', 'secret');
show('and back', () => back.update(packed, 'hex', 'utf8') + back.final('utf8'));
show('kinds', () => [old instanceof crypto.Cipher, back instanceof crypto.Decipher]);

// A text that needs a passphrase.
const { privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256', publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' } });
show('no passphrase', () => crypto.createPrivateKey(privateKey));
const ecdh = crypto.createECDH('prime256v1');
ecdh.generateKeys();
show('no point', () => ecdh.setPublicKey(Buffer.alloc(65)));
show('no pair', () => {
  ecdh.setPublicKey(crypto.createECDH('prime256v1').generateKeys());
  return ecdh.computeSecret(ecdh.getPublicKey());
});
show('random', () => crypto.randomBytes(NaN));
show('uuid', () => crypto.randomUUID(1));
show('hash', () => crypto.hash('sha1', 'x', 1));
show('hmac', () => crypto.createHmac(null));
show('hkdf', () => crypto.hkdf());

crypto.generatePrime(48, { bigint: true }, (error, prime) => {
  crypto.checkPrime(prime, (error2, good) => console.log('later', error, error2, good));
});
