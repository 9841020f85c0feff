import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { longestWait } from '../../../src/count/pipeline/lookup-queue.ts';
import { createReverseDns } from '../../../src/explain/resolving/lookups/reverse-dns.ts';

const tables: {
  names: [string, string[], string][];
  questions: [string, string, string][];
} = {
  // Labels of accepted names, and the name.
  names: [
    ['one label', ['localhost'], 'localhost'],
    ['many labels', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], 'a.b.c.d.e.f.g.h'],
    ['digits and hyphens', ['ec2-203-0-113-9', '3com'], 'ec2-203-0-113-9.3com'],
    ['an underscore', ['_web_1', 'example', 'org'], '_web_1.example.org'],
    ['punycode', ['xn--bcher-kva', 'example'], 'xn--bcher-kva.example'],
    ['any case', ['WEB', 'Example', 'ORG'], 'WEB.Example.ORG'],
    [
      'the longest',
      [
        'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
        'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
        'ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc',
        'ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',
      ],
      'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',
    ],
  ],
  // Addresses, the question for their name, and the one that confirms it.
  questions: [
    ['203.0.113.9', 'PTR 9.113.0.203.in-addr.arpa', 'A web.example.org'],
    [
      '2001:db8::1',
      'PTR 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
      'AAAA web.example.org',
    ],
    ['::ffff:203.0.113.9', 'PTR 9.113.0.203.in-addr.arpa', 'A web.example.org'],
  ],
};

/** RFC 1035, 4.1.1. */
const responseCode = { found: 0, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };

interface Answer {
  code: keyof typeof responseCode;
  /** Names as they go over the wire, one for each PTR record. */
  names: Buffer[];
  /**
   * The addresses of a name, in upper or lower case. By default every name has the address that was asked about.
   * Undefined: the server fails to find them.
   */
  addresses?: (name: string) => readonly string[] | undefined;
}

/** The server's answer; undefined: it does not answer. */
let answer: Answer | undefined;
/** For example `PTR 9.113.0.203.in-addr.arpa`. */
let questions: string[];
/** The last address for which PTR records were requested. */
let asked = '';
let server: Socket;
let servers: string[];
let find: (address: string) => Promise<string | undefined>;

beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (query, { port }) => {
    const question = questionIn(query);
    questions.push(question);
    const records = answer === undefined ? undefined : recordsFor(question, answer);
    if (answer === undefined) return;
    const { code } = records === undefined ? ({ code: 'SERVFAIL' } as const) : answer;
    server.send(reply(query, code, records ?? []), port, '127.0.0.1');
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  servers = [`127.0.0.1:${server.address().port}`];
  // Longer than a busy machine takes to answer.
  const confirmed = createReverseDns(servers, 20_000);
  find = (address) => confirmed((asked = address));
});

beforeEach(() => {
  answer = undefined;
  questions = [];
});

afterAll(() => void server.close());

function questionIn(query: Buffer): string {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return `${typeNames[query.readUInt16BE(at + 1)]} ${labels.join('.')}`;
}

/** RFC 1035, 3.2.2; RFC 3596, 2.1. */
const typeNames: Record<number, string> = { 1: 'A', 12: 'PTR', 28: 'AAAA' };

/** Returns the data of each record in the answer to a question. */
function recordsFor(question: string, { names, addresses = () => [asked] }: Answer): Buffer[] | undefined {
  const [type = '', name = ''] = question.split(' ');
  if (type === 'PTR') return names;
  const isFour = type === 'A';
  return addresses(name.toLowerCase())
    ?.filter((address) => ipaddr.parse(address).kind() === (isFour ? 'ipv4' : 'ipv6'))
    .map((address) => Buffer.from(ipaddr.parse(address).toByteArray()));
}

function reply(query: Buffer, code: Answer['code'], records: Buffer[]): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  // A response with recursion desired and available; one question, and this many answers.
  head.writeUInt16BE(0x8180 | responseCode[code], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  return Buffer.concat([head, question, ...records.map((data) => record(question.subarray(-4), data))]);
}

/** A record with the name in the question, of this type and class, not to be cached. */
function record(typeAndClass: Buffer, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  typeAndClass.copy(head, 2);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** Writes each label unchanged, whatever it contains. */
function wire(...labels: string[]): Buffer {
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([Buffer.byteLength(label)]), Buffer.from(label)]),
    Buffer.from([0]),
  ]);
}

test("the default servers are the node's", () => {
  expect(createReverseDns()).toBeTypeOf('function');
});

const good = wire('web', 'example', 'org');

test.each(tables.questions)(
  'the name of %s is requested once, as %s, and confirmed once, by %s',
  async (address, question, confirmation) => {
    answer = { code: 'found', names: [good], addresses: () => [ipaddr.process(address).toString(), '198.51.100.7'] };
    expect(await find(address)).toBe('web.example.org');
    expect(questions).toEqual([question, confirmation]);
  },
);

test.each(tables.names)('a name may have %s', async (_, labels, expected) => {
  answer = { code: 'found', names: [wire(...labels)] };
  expect(await find('203.0.113.10')).toBe(expected);
});

test('uses the first valid name', async () => {
  answer = { code: 'found', names: [wire('not one', 'org'), wire('-', 'org'), good, wire('other', 'org')] };
  expect(await find('203.0.113.11')).toBe('web.example.org');
});

// The owner of an address writes its PTR record, and can write any name into it. But the owner cannot write the
// addresses of that name.

test.each<[string, NonNullable<Answer['addresses']>]>([
  ['another address', () => ['198.51.100.7']],
  ['an address of the other family', () => ['2001:db8::1']],
  ['no address', () => []],
])('a name that its owner does not confirm is not used: it has %s', async (_, addresses) => {
  answer = { code: 'found', names: [wire('kubernetes', 'default', 'svc')], addresses };
  expect(await find('203.0.113.9')).toBeUndefined();
  expect(questions).toHaveLength(2);
});

test('a name that its owner does not confirm does not hide a confirmed one, even if the server fails to look it up', async () => {
  answer = {
    code: 'found',
    names: [wire('forged', 'org'), good],
    addresses: (name) => (name === 'web.example.org' ? ['203.0.113.9'] : undefined),
  };
  expect(await find('203.0.113.9')).toBe('web.example.org');
});

test('a name that its owner does not confirm is a failure if the server fails to look it up', async () => {
  answer = { code: 'found', names: [good], addresses: () => undefined };
  await expect(find('203.0.113.9')).rejects.toMatchObject({ code: 'ESERVFAIL' });
});

test('names that their owner does not confirm cost at most three requests, however many there are', async () => {
  const names = Array.from({ length: 12 }, (_, i) => wire(`forged-${i}`, 'org'));
  answer = { code: 'found', names, addresses: () => ['198.51.100.7'] };
  expect(await find('203.0.113.9')).toBeUndefined();
  expect(questions.map((question) => question.split(' ')[0])).toEqual(['PTR', 'A', 'A', 'A']);
});

test.each<[string, Answer]>([
  ['there is no such name', { code: 'NXDOMAIN', names: [] }],
  ['the name has no PTR record', { code: 'found', names: [] }],
])('an address without a name is a valid answer: %s', async (_, given) => {
  answer = given;
  expect(await find('203.0.113.12')).toBeUndefined();
  expect(questions).toHaveLength(1);
});

test('a silent server counts as a failure after one try, before a finding must be published', async () => {
  // Both are timers, so their order does not depend on how busy the machine is.
  const tooLate = delay(longestWait, 'too late', { ref: false });
  const silent = createReverseDns(servers)('203.0.113.13').catch((error: NodeJS.ErrnoException) => error.code);
  expect(await Promise.race([silent, tooLate])).toBe('ETIMEOUT');
  expect(questions).toHaveLength(1);
});

test('no answer: a pending request does not block the next one', async () => {
  const first = find('203.0.113.13');
  const [query, { port }] = (await once(server, 'message')) as [Buffer, { port: number }];
  answer = { code: 'found', names: [good] };
  expect(await find('203.0.113.17')).toBe('web.example.org');
  asked = '203.0.113.13';
  server.send(reply(query, 'found', [wire('late', 'org')]), port, '127.0.0.1');
  expect(await first).toBe('late.org');
});

test.each(['SERVFAIL', 'REFUSED', 'NOTIMP'] as const)('no answer: %s is a failure', async (code) => {
  answer = { code, names: [] };
  await expect(find('203.0.113.14')).rejects.toMatchObject({ code: `E${code}` });
});

test('no answer: a text that is not an address', async () => {
  await expect(find('not an address')).rejects.toThrow(/./);
  expect(questions).toEqual([]);
});

// The owner of an address writes its name, which is shown in Events and on terminals.
test.each([
  ['spaces', [wire('dropped by', 'admin')]],
  ['a line break', [wire('a\nb', 'org')]],
  ['an escape sequence', [wire('\u001b[31mred', 'org')]],
  ['a NUL', [wire('a\0b', 'org')]],
  ['a dot within a label', [wire('a.b', 'org')]],
  ['letters past ASCII', [wire('bücher', 'example')]],
  ['text from right to left', [wire('\u202egro', 'example')]],
  ['bytes that are no text', [Buffer.from([3, 0xff, 0xfe, 0x80, 0])]],
  ['a hyphen first', [wire('-a', 'org')]],
  ['a hyphen last', [wire('a-', 'org')]],
  ['no label', [wire()]],
  ['the form of an address, which no host name has (RFC 1123, 2.1)', [wire('10', '0', '0', '1')]],
])('a hostile name is not used: %s', async (_, names) => {
  answer = { code: 'found', names };
  expect(await find('203.0.113.15')).toBeUndefined();
});

test.each([
  ['too long', Buffer.concat([...Array.from({ length: 8 }, () => wire('a'.repeat(63)).subarray(0, 64)), wire()])],
  ['cut off', Buffer.from([63, 97])],
  ['pointing past the end', Buffer.from([0xff, 0xff])],
])('a broken record gives a failure or nothing, never a name: %s', async (_, name) => {
  answer = { code: 'found', names: [name] };
  expect(await find('203.0.113.16').catch(() => undefined)).toBeUndefined();
});
