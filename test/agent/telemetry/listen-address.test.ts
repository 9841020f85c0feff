import { expect, test } from 'vitest';
import { hostAndPort, parseListenAddress } from '../../../src/base/platform/address.ts';

const tables: { addresses: [string, object][]; others: string[][] } = {
  // Listen addresses, and texts that are not valid ones.
  addresses: [
    ['127.0.0.1:9090', { host: '127.0.0.1', port: 9090 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    [':9090', { host: undefined, port: 9090 }],
    ['[::1]:9090', { host: '::1', port: 9090 }],
    ['[fe80::1%eth0]:65535', { host: 'fe80::1%eth0', port: 65535 }],
    ['[::ffff:10.0.0.1]:1', { host: '::ffff:10.0.0.1', port: 1 }],
  ],
  others: [
    [''],
    ['9090'],
    [':'],
    ['127.0.0.1'],
    ['127.0.0.1:'],
    ['127.0.0.1:65536'],
    ['127.0.0.1:http'],
    [':-1'],
    ['::1:9090'],
    ['[::1]'],
    ['[]:9090'],
    ['[localhost]:9090'],
    ['http://127.0.0.1:9090'],
    [' :9090'],
    [':9090\n'],
  ],
};

test.each(tables.addresses)('the address to listen at %s', (text, expected) => {
  expect(parseListenAddress(text)).toEqual(expected);
});

test.each(tables.others)('%j is not an address', (text) => {
  expect(parseListenAddress(text)).toBeUndefined();
});

test.each([['127.0.0.1:9090'], ['[::1]:9090']])('%s is printed as it is read', (text) => {
  const { host, port } = parseListenAddress(text) ?? {};
  expect(hostAndPort(host ?? '', port ?? NaN)).toBe(text);
});
