import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { longestWait } from '../../src/investigation.ts';
import { createReverseDns } from '../../src/resolving/reverse-dns.ts';

/** RFC 1035, 4.1.1. */
const responseCode = { found: 0, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };

interface Answer {
  code: keyof typeof responseCode;
  /** Names as they go over the wire, one for each PTR record. */
  names: Buffer[];
}

/** What the server says; undefined: nothing. */
let answer: Answer | undefined;
/** `PTR 9.113.0.203.in-addr.arpa` */
let questions: string[];
let server: Socket;
let servers: string[];
let find: (address: string) => Promise<string | undefined>;

beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (query, { port }) => {
    questions.push(questionIn(query));
    if (answer !== undefined) server.send(reply(query, answer), port, '127.0.0.1');
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  servers = [`127.0.0.1:${server.address().port}`];
  // Longer than a machine that is busy takes to answer.
  find = createReverseDns(servers, 20_000);
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
  return `${query.readUInt16BE(at + 1) === 12 ? 'PTR' : 'another type'} ${labels.join('.')}`;
}

function reply(query: Buffer, { code, names }: Answer): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  // A response, recursion desired and available; one question, so many answers.
  head.writeUInt16BE(0x8180 | responseCode[code], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(names.length, 6);
  return Buffer.concat([head, question, ...names.map(record)]);
}

/** A PTR record of the name in question, not to be cached. */
function record(name: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(12, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(name.length, 10);
  return Buffer.concat([head, name]);
}

/** Each label as it is, whatever is in it. */
function wire(...labels: string[]): Buffer {
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([Buffer.byteLength(label)]), Buffer.from(label)]),
    Buffer.from([0]),
  ]);
}

const good = wire('web', 'example', 'org');

describe('a name', () => {
  test.each([
    ['203.0.113.9', 'PTR 9.113.0.203.in-addr.arpa'],
    ['2001:db8::1', 'PTR 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
  ])('of %s is asked for once, as %s', async (address, question) => {
    answer = { code: 'found', names: [good] };
    expect(await find(address)).toBe('web.example.org');
    expect(questions).toEqual([question]);
  });

  test.each([
    ['one label', ['localhost'], 'localhost'],
    ['many labels', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], 'a.b.c.d.e.f.g.h'],
    ['digits and hyphens', ['ec2-203-0-113-9', '3com'], 'ec2-203-0-113-9.3com'],
    ['an underscore', ['_web_1', 'example', 'org'], '_web_1.example.org'],
    ['punycode', ['xn--bcher-kva', 'example'], 'xn--bcher-kva.example'],
    ['any case', ['WEB', 'Example', 'ORG'], 'WEB.Example.ORG'],
    [
      'the longest',
      ['a'.repeat(63), 'b'.repeat(63), 'c'.repeat(63), 'd'.repeat(61)],
      `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`,
    ],
  ])('may have %s', async (_, labels, expected) => {
    answer = { code: 'found', names: [wire(...labels)] };
    expect(await find('203.0.113.10')).toBe(expected);
  });

  test('is the first that is one', async () => {
    answer = { code: 'found', names: [wire('not one', 'org'), wire('-', 'org'), good, wire('other', 'org')] };
    expect(await find('203.0.113.11')).toBe('web.example.org');
  });
});

describe('nobody', () => {
  test.each<[string, Answer]>([
    ['there is no such name', { code: 'NXDOMAIN', names: [] }],
    ['the name has no PTR record', { code: 'found', names: [] }],
  ])('is an answer: %s', async (_, given) => {
    answer = given;
    expect(await find('203.0.113.12')).toBeUndefined();
    expect(questions).toHaveLength(1);
  });
});

describe('no answer', () => {
  test('from a server that is silent is a failure, after one try and before a finding has to go out', async () => {
    // Which of the two is over first does not depend on how busy the machine is.
    const tooLate = delay(longestWait, 'too late', { ref: false });
    const silent = createReverseDns(servers)('203.0.113.13').catch((error: NodeJS.ErrnoException) => error.code);
    expect(await Promise.race([silent, tooLate])).toBe('ETIMEOUT');
    expect(questions).toHaveLength(1);
  });

  test('yet does not stand in the way of the next', async () => {
    const first = find('203.0.113.13');
    const [query, { port }] = (await once(server, 'message')) as [Buffer, { port: number }];
    answer = { code: 'found', names: [good] };
    expect(await find('203.0.113.17')).toBe('web.example.org');
    server.send(reply(query, { code: 'found', names: [wire('late', 'org')] }), port, '127.0.0.1');
    expect(await first).toBe('late.org');
  });

  test.each(['SERVFAIL', 'REFUSED', 'NOTIMP'] as const)('%s is a failure', async (code) => {
    answer = { code, names: [] };
    await expect(find('203.0.113.14')).rejects.toMatchObject({ code: `E${code}` });
  });

  test('can come from something that is no address', async () => {
    await expect(find('not an address')).rejects.toThrow(/./);
    expect(questions).toEqual([]);
  });
});

// Whoever owns an address writes its name, which will stand in Events and on terminals.
test.each([
  ['spaces', [wire('dropped by', 'admin')]],
  ['a line break', [wire('a\nb', 'org')]],
  ['a tab', [wire('a\tb', 'org')]],
  ['an escape sequence', [wire('\u001b[31mred', 'org')]],
  ['a NUL', [wire('a\0b', 'org')]],
  ['a dot within a label', [wire('a.b', 'org')]],
  ['a backslash', [wire('a\\b', 'org')]],
  ['quotes', [wire('a"b', 'org')]],
  ['markup', [wire('<script>', 'org')]],
  ['letters past ASCII', [wire('bücher', 'example')]],
  ['text from right to left', [wire('\u202egro', 'example')]],
  ['bytes that are no text', [Buffer.from([3, 0xff, 0xfe, 0x80, 0])]],
  ['a hyphen first', [wire('-a', 'org')]],
  ['a hyphen last', [wire('a-', 'org')]],
  ['no label', [wire()]],
  ['the form of an address, which no host name has (RFC 1123, 2.1)', [wire('10', '0', '0', '1')]],
])('a hostile name comes to nothing: %s', async (_, names) => {
  answer = { code: 'found', names };
  expect(await find('203.0.113.15')).toBeUndefined();
});

test.each([
  ['too long', Buffer.concat([...Array.from({ length: 8 }, () => wire('a'.repeat(63)).subarray(0, 64)), wire()])],
  ['cut off', Buffer.from([63, 97])],
  ['pointing past the end', Buffer.from([0xff, 0xff])],
])('a broken record is a failure or nothing, never a name: %s', async (_, name) => {
  answer = { code: 'found', names: [name] };
  expect(await find('203.0.113.16').catch(() => undefined)).toBeUndefined();
});
