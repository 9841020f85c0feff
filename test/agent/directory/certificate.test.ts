import { createPublicKey, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCertificate } from '../../../src/agent/directory/certificate.ts';
import { nine } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const day = 86_400_000;

test.each(['10.65.2.9', 'fd00:65::9'])(
  'the certificate of %s is signed by its own key, for that address alone',
  (address) => {
    const made = createCertificate(address, nine, nine + 90 * day);
    const certificate = new X509Certificate(made.certificate);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.publicKey.equals(createPublicKey(made.key))).toBe(true);
    expect(certificate.checkIP(address)).toBe(address);
    expect(certificate.checkIP('10.65.2.10')).toBeUndefined();
    expect([certificate.validFromDate.getTime(), certificate.validToDate.getTime()]).toEqual([nine, nine + 90 * day]);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  },
);

test('each certificate has its own key and serial number', () => {
  const [one, other] = [1, 2].map(() => createCertificate('10.65.2.9', nine, nine + day));
  expect(one?.key).not.toBe(other?.key);
  expect(new X509Certificate(one?.certificate ?? '').serialNumber).not.toBe(
    new X509Certificate(other?.certificate ?? '').serialNumber,
  );
});

test('any address and time up to 2049 gives a certificate that can be parsed', () => {
  const time = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2049, 0) });
  forAll([fc.oneof(fc.ipV4(), fc.ipV6()), time], { numRuns: 50 }, (address, from) => {
    const { certificate } = createCertificate(address, from, from + day);
    expect(new X509Certificate(certificate).validFromDate.getTime()).toBe(Math.floor(from / 1000) * 1000);
  });
});
