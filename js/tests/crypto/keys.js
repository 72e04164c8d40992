// SPDX-License-Identifier: MIT
// Keys, ciphers, signatures and certificates of node:crypto.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');

const show = (name, f) => {
  try {
    console.log(name, f());
  } catch (e) {
    console.log(name, 'threw', e.name, e.code, e.message);
  }
};
const hex = (b) => b.toString('hex');
show('information: CBC', () => JSON.stringify(crypto.getCipherInfo('aes-128-cbc')));
show('information: ChaCha20', () => JSON.stringify(crypto.getCipherInfo('chacha20-poly1305')));
show('CBC', () => {
  const c = crypto.createCipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2));
  return c.update('hello', 'utf8', 'hex') + c.final('hex');
});
show('CBC, back', () => {
  const c = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2));
  return (
    c.update(crypto.createCipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2)).final('hex'), 'hex', 'utf8') +
    c.final('utf8')
  );
});
show('GCM', () => {
  const c = crypto.createCipheriv('aes-256-gcm', Buffer.alloc(32, 1), Buffer.alloc(12, 2));
  c.setAAD(Buffer.from('aad'));
  const r = c.update('hello', 'utf8', 'hex') + c.final('hex');
  return r + ' ' + hex(c.getAuthTag());
});
show('GCM with a wrong tag', () => {
  const c = crypto.createDecipheriv('aes-256-gcm', Buffer.alloc(32, 1), Buffer.alloc(12, 2));
  c.setAAD(Buffer.from('aad'));
  c.setAuthTag(Buffer.alloc(16));
  const r = c.update('2345', 'hex', 'utf8');
  return r.length + c.final('utf8');
});
show('bad decrypt', () => {
  const c = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2));
  c.update(Buffer.alloc(16));
  return c.final();
});
show('a short key', () => crypto.createCipheriv('aes-128-cbc', Buffer.alloc(15), Buffer.alloc(16)));
show('a short vector', () => crypto.createCipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(15)));
show('no cipher', () => crypto.createCipheriv('foo', Buffer.alloc(16), Buffer.alloc(15)));
show('a second end', () => {
  const c = crypto.createCipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2));
  c.final();
  c.final();
});
show('data behind the end', () => {
  const c = crypto.createCipheriv('aes-128-cbc', Buffer.alloc(16, 1), Buffer.alloc(16, 2));
  c.final();
  c.update('a');
});
const pem = fs.readFileSync('parts/key.pem', 'utf8');
const cert = fs.readFileSync('parts/certificate.pem', 'utf8');
show('details', () => crypto.createPrivateKey(pem).asymmetricKeyDetails);
show('type', () => crypto.createPrivateKey(pem).asymmetricKeyType);
show('pem8', () => crypto.createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }) === pem);
show('pem1', () =>
  crypto
    .createHash('sha1')
    .update(crypto.createPrivateKey(pem).export({ type: 'pkcs1', format: 'pem' }))
    .digest('hex'),
);
show('spki', () =>
  crypto
    .createHash('sha1')
    .update(crypto.createPublicKey(pem).export({ type: 'spki', format: 'pem' }))
    .digest('hex'),
);
show('pub1', () =>
  crypto
    .createHash('sha1')
    .update(crypto.createPublicKey(cert).export({ type: 'pkcs1', format: 'pem' }))
    .digest('hex'),
);
show('jwk', () => JSON.stringify(crypto.createPublicKey(pem).export({ format: 'jwk' })).length);
show('JWK and back', () =>
  crypto
    .createPrivateKey({ key: crypto.createPrivateKey(pem).export({ format: 'jwk' }), format: 'jwk' })
    .equals(crypto.createPrivateKey(pem)),
);
show('sign', () => crypto.createSign('RSA-SHA256').update('some ').update('data').sign(pem, 'hex'));
show('sign2', () => hex(crypto.sign('sha512', Buffer.from('x'), pem)));
show('verify', () =>
  crypto.createVerify('sha256').update('some data').verify(cert, crypto.createSign('RSA-SHA256').update('some data').sign(pem)),
);
show('verifyno', () => crypto.verify('sha256', Buffer.from('x'), pem, Buffer.alloc(256)));
show('pss', () =>
  crypto.verify(
    'sha256',
    Buffer.from('x'),
    { key: cert, padding: crypto.constants.RSA_PKCS1_PSS_PADDING },
    crypto.sign('sha256', Buffer.from('x'), { key: pem, padding: 6, saltLength: 20 }),
  ),
);
show('oaep', () => crypto.privateDecrypt(pem, crypto.publicEncrypt(cert, Buffer.from('secret'))).toString());
show('oaep2', () =>
  crypto
    .privateDecrypt(
      { key: pem, oaepHash: 'sha256', oaepLabel: Buffer.from('l') },
      crypto.publicEncrypt({ key: cert, oaepHash: 'sha256', oaepLabel: Buffer.from('l') }, Buffer.from('secret')),
    )
    .toString(),
);
show('privenc', () => hex(crypto.privateEncrypt(pem, Buffer.from('secret'))));
show('pubdec', () => crypto.publicDecrypt(cert, crypto.privateEncrypt(pem, Buffer.from('secret'))).toString());
show('encrypted', () => {
  const e = crypto.createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'top' });
  return e.split('\n')[0] + crypto.createPrivateKey({ key: e, passphrase: 'top' }).equals(crypto.createPrivateKey(pem));
});
show('encrypted, PKCS #1', () => {
  const e = crypto.createPrivateKey(pem).export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'top' });
  return e.split('\n').slice(0, 2) + crypto.createPrivateKey({ key: e, passphrase: 'top' }).equals(crypto.createPrivateKey(pem));
});
// Always the same bytes: one key in 256 that is made here would look well padded with the wrong passphrase.
const locked = [
  '-----BEGIN ENCRYPTED PRIVATE KEY-----',
  'MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhLgL5i4HdgJQICCAAw',
  'DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEM+8EymaIjoreZzhmY7IMQ0EQO1y',
  '9CEIOPoDs9i7Rpfu1a/C/eD/XNElKcCDLdXP4PpfFP9Zl0A+0bvutKQP0fwLXa2E',
  'UKRKAO4BJ847pfhkqy0=',
  '-----END ENCRYPTED PRIVATE KEY-----',
].join('\n');
show('a wrong passphrase', () => crypto.createPrivateKey({ key: locked, passphrase: 'x' }));
show('garbage', () => crypto.createPrivateKey('garbage'));
show('a public key as a private one', () =>
  crypto.createPrivateKey(crypto.createPublicKey(pem).export({ type: 'spki', format: 'pem' })),
);
for (const t of ['ed25519', 'x25519', 'ed448'])
  show(t, () => {
    const k = crypto.generateKeyPairSync(t);
    return [
      k.publicKey.asymmetricKeyType,
      Object.keys(k.privateKey.export({ format: 'jwk' })).join(),
      k.privateKey.export({ type: 'pkcs8', format: 'der' }).length,
      crypto.createPublicKey({ key: k.publicKey.export({ format: 'jwk' }), format: 'jwk' }).equals(k.publicKey),
    ];
  });
show('Ed25519 signs', () => {
  const k = crypto.generateKeyPairSync('ed25519');
  return crypto.verify(null, Buffer.from('m'), k.publicKey, crypto.sign(null, Buffer.from('m'), k.privateKey));
});
show('ec', () => {
  const k = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const s = crypto.sign('sha256', Buffer.from('m'), { key: k.privateKey, dsaEncoding: 'ieee-p1363' });
  return [
    s.length,
    crypto.verify('sha256', Buffer.from('m'), { key: k.publicKey, dsaEncoding: 'ieee-p1363' }, s),
    JSON.stringify(k.publicKey.asymmetricKeyDetails),
    Object.keys(k.privateKey.export({ format: 'jwk' })).join(),
    k.privateKey.export({ type: 'sec1', format: 'pem' }).split('\n')[0],
  ];
});
show('ecpem', () => {
  const k = crypto.generateKeyPairSync('ec', {
    namedCurve: 'secp384r1',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return k.publicKey.length + ' ' + k.privateKey.length;
});
show('ecdh', () => {
  const a = crypto.createECDH('secp256k1'),
    b = crypto.createECDH('secp256k1');
  a.setPrivateKey('01'.repeat(32), 'hex');
  b.generateKeys();
  return [
    a.getPublicKey('hex'),
    a.getPublicKey('hex', 'compressed'),
    a.getPrivateKey('hex'),
    a.computeSecret(b.getPublicKey()).equals(b.computeSecret(a.getPublicKey(null, 'compressed'))),
  ];
});
show('a bad point', () => crypto.createECDH('secp256k1').setPrivateKey('01').computeSecret(Buffer.from('0405', 'hex')));
show('X25519', () => {
  const a = crypto.generateKeyPairSync('x25519'),
    b = crypto.generateKeyPairSync('x25519');
  return crypto
    .diffieHellman({ privateKey: a.privateKey, publicKey: b.publicKey })
    .equals(crypto.diffieHellman({ privateKey: b.privateKey, publicKey: a.publicKey }));
});
show('scrypt', () => hex(crypto.scryptSync('pw', 'salt', 32, { N: 1024, r: 4, p: 2 })));
show('hmackey', () =>
  crypto
    .createHmac('sha256', crypto.createSecretKey(Buffer.from('k')))
    .update('x')
    .digest('hex'),
);
show('secret', () => JSON.stringify(crypto.createSecretKey('abc', 'utf8').export({ format: 'jwk' })));
const x = new crypto.X509Certificate(cert);
for (const k of [
  'subject',
  'issuer',
  'subjectAltName',
  'infoAccess',
  'validFrom',
  'validTo',
  'serialNumber',
  'keyUsage',
  'ca',
  'fingerprint256',
])
  show(k, () => x[k]);
show('names of the certificate', () => [
  x.checkHost('host.example'),
  x.checkHost('a.wild.example'),
  x.checkHost('no'),
  x.checkIP('127.0.0.1'),
  x.checkEmail('a@b'),
  x.verify(x.publicKey),
  x.checkIssued(x),
  x.checkPrivateKey(crypto.createPrivateKey(pem)),
  x.toString() === cert,
]);
show('legacy', () => JSON.stringify(x.toLegacyObject().subject));
show('badcert', () => new crypto.X509Certificate('x'));
show('ciphers', () => crypto.getCiphers().filter((c) => /^aes-(128|256)-(gcm|cbc|ctr)$/.test(c)));
show('a secret key', () => crypto.generateKeySync('hmac', { length: 64 }).symmetricKeySize);
show('pssgen', () => {
  const k = crypto.generateKeyPairSync('rsa-pss', {
    modulusLength: 1024,
    hashAlgorithm: 'sha256',
    mgf1HashAlgorithm: 'sha256',
    saltLength: 16,
  });
  return [k.publicKey.asymmetricKeyType, k.publicKey.asymmetricKeyDetails];
});
show('badtype', () => crypto.generateKeyPairSync('foo', {}));
show('sign no key', () => crypto.createSign('sha256').sign());
show('sign bad digest', () => crypto.createSign('foo'));
crypto.generateKeyPair('rsa', { modulusLength: 1024 }, (e, pub, priv) => {
  console.log(e, pub.type, priv.type);
  crypto.scrypt('pw', 'salt', 32, { N: 1024, r: 4, p: 2 }, (e, k) => {
    console.log(e, hex(k));
    crypto.sign('sha256', Buffer.from('d'), priv, (e, s) => {
      console.log(e, s.length);
      crypto.verify('sha256', Buffer.from('d'), pub, s, (e, ok) => {
        console.log(e, ok);
        const c = crypto.createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
        const out = [];
        c.on('data', (d) => out.push(d));
        c.on('end', () => console.log('stream', hex(Buffer.concat(out))));
        c.write('abc');
        c.end('def');
        require('util')
          .promisify(crypto.generateKeyPair)('ed25519')
          .then((k) => console.log(Object.keys(k)));
      });
    });
  });
});
