import { expect, test } from 'vitest';
import { hostAndPort, parseListenAddress } from '../../../src/base/platform/address.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { addresses: [string, object][]; others: string[][] };

test.each(tables.addresses)('the address to listen at %s', (text, expected) => {
  expect(parseListenAddress(text)).toEqual(expected);
});

test.each(tables.others)('%j is no address', (text) => {
  expect(parseListenAddress(text)).toBeUndefined();
});

test.each([['127.0.0.1:9090'], ['[::1]:9090']])('%s is printed as it is read', (text) => {
  const { host, port } = parseListenAddress(text) ?? {};
  expect(hostAndPort(host ?? '', port ?? NaN)).toBe(text);
});
