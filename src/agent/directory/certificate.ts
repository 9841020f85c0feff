import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Millis } from '../../base/model/log-line.ts';

export interface Certificate {
  /** Both are PEM; the key is in PKCS #8. */
  key: string;
  certificate: string;
}

/**
 * Makes a self-signed certificate for an IP address (RFC 5280) with a new key (ECDSA, P-256). Node.js reads certificates but cannot make
 * them, and @peculiar/x509 would add 17 packages and 343 KB to a program of 3 MB. This certificate has no options, nothing is parsed, and
 * OpenSSL reads it at the start.
 */
export function createCertificate(address: string, from: Millis, until: Millis): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // The serial number must be positive and without leading zeros.
  const serial = randomBytes(16);
  serial[0] = (Number(serial[0]) & 0x3f) | 0x40;
  const name = sequence(
    der(0x31, sequence(objectId(commonName), der(0x0c, Buffer.from('kube-netfilter-tailer directory')))),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    sequence(objectId(ecdsaWithSha256)),
    name,
    sequence(time(from), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(subjectAltName, sequence(der(0x87, Buffer.from(ipaddr.parse(address).toByteArray())))),
        extension(extendedKeyUsage, sequence(objectId(serverAuth))),
      ),
    ),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', body, privateKey));
  const certificate = sequence(body, sequence(objectId(ecdsaWithSha256)), signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${certificate.replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

/** Encoded object identifiers (X.690, 8.19). */
const commonName = '550403';
const subjectAltName = '551d11';
const extendedKeyUsage = '551d25';
const serverAuth = '2b06010505070301';
const ecdsaWithSha256 = '2a8648ce3d040302';

/**
 * Encodes a tag, the length and the contents (X.690, 8.1). Tags used here: 0x02 integer, 0x03 bit string, 0x04 octet string, 0x06 object
 * identifier, 0x0c text in UTF-8, 0x17 UTCTime, 0x30 sequence, 0x31 set; 0xa0, 0xa3 and 0x87 are those of fields in RFC 5280.
 */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, 0x80 | bytes.length, ...bytes), content]);
}

function sequence(...contents: readonly Uint8Array[]): Buffer {
  return der(0x30, ...contents);
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

/** Encodes a UTCTime, which RFC 5280 requires until 2049. */
function time(instant: Millis): Buffer {
  const digits = new Date(instant).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

function extension(id: string, value: Uint8Array): Buffer {
  return sequence(objectId(id), der(0x04, value));
}
