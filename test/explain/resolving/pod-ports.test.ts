import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ServicePort } from '../../../src/explain/resolving/objects.ts';
import { isPackedPorts, packedName, packPorts } from '../../../src/explain/resolving/pod-record.ts';
import { forAll } from '../../for-all.ts';

const http: ServicePort = { name: 'http', port: 80, protocol: 'tcp' };
const many = Array.from({ length: 17 }, (_, number) => ({ ...http, name: `p${number}`, port: 8000 + number }));

test.each<[string, ServicePort[], string | undefined]>([
  ['none', [], undefined],
  ['one', [http], ',http=80/tcp,'],
  ['two', [http, { name: 'dns', port: 53, protocol: 'udp' }], ',http=80/tcp,dns=53/udp,'],
  ['the same one twice', [http, http], ',http=80/tcp,'],
])('packPorts: %s', (_, ports, expected) => {
  expect(packPorts(ports)).toBe(expected);
});

test('packPorts keeps the first 16', () => {
  expect(packPorts(many)).toBe(packPorts(many.slice(0, 16)));
  expect(packPorts(many)).not.toBe(packPorts(many.slice(0, 15)));
});

const packedPorts = ',http=80/tcp,dns=53/udp,alias=80/tcp,other=8080/tcp,';

test.each([
  { port: 80, protocol: 'tcp', expected: 'http', what: 'the first of two names' },
  { port: 53, protocol: 'udp', expected: 'dns', what: 'another protocol' },
  { port: 8080, protocol: 'tcp', expected: 'other', what: 'the last' },
  { port: 53, protocol: 'tcp', expected: undefined, what: 'not for another protocol' },
  { port: 8, protocol: 'tcp', expected: undefined, what: 'not for a beginning of its digits' },
  { port: 808, protocol: 'tcp', expected: undefined, what: 'not for more of its digits' },
  { port: 0, protocol: 'tcp', expected: undefined, what: 'not for an end of its digits' },
  { port: 80, protocol: 'udplite', expected: undefined, what: 'not for a protocol that no container names' },
])('packedName: $what', ({ port, protocol, expected }) => {
  expect(packedName(packedPorts, port, protocol)).toBe(expected);
});

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,14}$/);
const anyProtocol = fc.constantFrom('tcp' as const, 'udp' as const, 'sctp' as const);
const anyPort = fc.record({ name, port: fc.integer({ min: 1, max: 65_535 }), protocol: anyProtocol });

test('packed ports give their names back', () => {
  forAll([fc.uniqueArray(anyPort, { minLength: 1, maxLength: 16, selector: (each) => each.port })], {}, (ports) => {
    const packed = packPorts(ports) ?? '';
    expect(isPackedPorts(packed)).toBe(true);
    expect(ports.map((each) => packedName(packed, each.port, each.protocol))).toEqual(ports.map((each) => each.name));
  });
});

test.each([
  { text: '', what: 'nothing' },
  { text: ',', what: 'a comma' },
  { text: ',,', what: 'two commas' },
  { text: 'http=80/tcp,', what: 'no comma before' },
  { text: ',http=80/tcp', what: 'no comma after' },
  { text: ',http=80/tcp,x', what: 'a rest' },
  { text: ',HTTP=80/tcp,', what: 'capitals' },
  { text: ',http=80/tcp,HTTP=81/tcp,', what: 'capitals beside a name' },
  { text: ',http)=80/tcp,', what: 'a parenthesis' },
  { text: ',ht\u001btp=80/tcp,', what: 'an escape character' },
  { text: ',=80/tcp,', what: 'no name' },
  { text: ',8080=80/tcp,', what: 'a name of digits only' },
  { text: ',a--b=80/tcp,', what: 'two hyphens' },
  { text: `,${'a'.repeat(16)}=80/tcp,`, what: 'a name of 16 characters' },
  { text: ',http=0/tcp,', what: 'port 0' },
  { text: ',http=65536/tcp,', what: 'port 65536' },
  { text: ',http=80/gre,', what: 'a protocol without ports' },
  { text: `,${many.map((each) => `${each.name}=80/tcp`).join(',')},`, what: '17 ports' },
])('isPackedPorts does not take $what', ({ text }) => {
  expect(isPackedPorts(text)).toBe(false);
});
