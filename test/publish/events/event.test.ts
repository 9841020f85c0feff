import { expect, test } from 'vitest';
import { annotationsOf, type CoreEvent, eventOf } from '../../../src/publish/events/event.ts';
import { cutBytes } from '../../../src/base/platform/printable.ts';
import type { Finding } from '../../../src/base/model/finding.ts';
import { finding, incident, nine, nodeRef, podRef, series } from '../../builders.ts';

const tables: {
  event: Omit<CoreEvent, 'metadata'> & { metadata: object };
  names: string[];
  heads: [string, string][];
  cuts: [string, number, string][];
} = {
  // The Event of a Pod.
  event: {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: '', namespace: 'shop', annotations: undefined },
    involvedObject: {
      apiVersion: 'v1',
      kind: 'Pod',
      namespace: 'shop',
      name: 'web-0',
      uid: 'uid-of-web-0',
      resourceVersion: '7',
    },
    related: {
      apiVersion: 'v1',
      kind: 'Pod',
      namespace: 'batch',
      name: 'db-0',
      uid: 'uid-of-db-0',
      resourceVersion: '7',
    },
    reason: 'PacketDrop',
    message: 'a message',
    type: 'Warning',
    count: 5,
    firstTimestamp: '2026-11-21T09:00:01Z',
    lastTimestamp: '2026-11-21T09:00:02Z',
    source: { component: 'kube-netfilter-tailer', host: 'node-a' },
    reportingComponent: 'kube-netfilter-tailer',
    reportingInstance: 'kube-netfilter-tailer-node-a',
  },
  names: [
    'web-0',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-b',
    'UPPER.Case',
    'under_score',
    'my_.host',
    'a..b',
    'a.-b',
    '-leading',
    'trailing-',
    '.',
    '',
    'ünïcode',
    'with space',
    '[2001:db8::1]',
  ],
  // Names of objects, and the beginning of their Events' names.
  heads: [
    ['web-0', 'web-0'],
    ['node-a.example.com', 'node-a.example.com'],
    ['UPPER.Case', 'upper.case'],
    ['my__.host', 'my.host'],
    ['a..-b-', 'a.b'],
    ['with two  spaces', 'with-two-spaces'],
    ['_', 'object'],
  ],
  // Texts that are cut to a number of bytes.
  cuts: [
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'ab…'],
    ['äöü', 5, 'ä…'],
    ['ab🐳', 6, 'ab🐳'],
    ['ab🐳c', 6, 'ab…'],
  ],
};

const second = 1000;
const named = (given: Partial<Finding>, window = 1): string =>
  eventOf(series({ finding: finding(given), window }), '', nine).metadata.name;

test('an Event of a Pod is written in full', () => {
  const first = nine + 1234;
  const drops = series({ finding: finding({ related: podRef('db-0', 'batch') }), count: 5, first, last: nine + 1999 });
  expect(eventOf(drops, 'a message', nine + 2234)).toEqual({
    ...tables.event,
    metadata: {
      ...tables.event.metadata,
      name: expect.stringMatching(/^web-0\.[0-9a-f]{20}$/),
      annotations: annotationsOf(drops),
    },
  });
});

test('an Event of a Node is in the namespace for Events of Nodes', () => {
  const { metadata, involvedObject } = eventOf(series({ finding: incident() }), '', nine);
  expect(metadata.namespace).toBe('default');
  expect(involvedObject).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'node-a',
    uid: 'uid-of-node-a',
    resourceVersion: '3',
  });
});

test('kubectl finds the Event of a Node without a known uid, because its name stands for the uid', () => {
  const regarding = { ...nodeRef(), uid: '', resourceVersion: undefined };
  expect(eventOf(series({ finding: incident({ regarding }) }), '', nine).involvedObject).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'node-a',
    uid: 'node-a',
  });
});

test('unknown facts are left out of an Event', () => {
  const event = eventOf(
    series({ finding: finding({ node: '', regarding: { ...podRef(), uid: '', resourceVersion: undefined } }) }),
    '',
    nine,
  );
  expect(event.involvedObject).toEqual({ apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web-0' });
  expect(event.source).toEqual({ component: 'kube-netfilter-tailer' });
  expect(event.reportingInstance).toBe('kube-netfilter-tailer');
  expect(event).not.toHaveProperty('related');
});

test('lastTimestamp is the time of creation at first, and that of the last packet later', () => {
  const last = nine + 10 * second;
  const now = nine + 60 * second;
  expect(eventOf(series({ last }), '', now).lastTimestamp).toBe('2026-11-21T09:01:00Z');
  expect(
    eventOf(
      series({
        last,
        published: { count: 1, writes: 1, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
      }),
      '',
      now,
    ).lastTimestamp,
  ).toBe('2026-11-21T09:00:10Z');
});

test('reportingInstance has at most 128 characters', () => {
  const { reportingInstance } = eventOf(series({ finding: finding({ node: 'n'.repeat(253) }) }), '', nine);
  expect(reportingInstance).toHaveLength(128);
});

test('the name is the same for the same series, whatever its count', () => {
  const [a, b] = [
    series(),
    series({
      count: 99,
      last: nine + 1,
      suppressed: true,
      published: { count: 1, writes: 1, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
    }),
  ];
  expect(eventOf(a, 'one', nine).metadata.name).toBe(eventOf(b, 'another', nine + 5).metadata.name);
  // The name for 'web-0', ["drop","node-a",1] must not change between releases.
  expect(eventOf(a, '', nine).metadata.name).toBe('web-0.c8c5847c439c2a068284');
});

test('the name differs by identity, node and window', () => {
  const names = [named({}), named({ identity: 'other' }), named({ node: 'node-b' }), named({}, 2)];
  expect(new Set(names).size).toBe(names.length);
});

test.each(tables.names)('the name of %j is a DNS subdomain', (name) => {
  const found = named({ regarding: nodeRef(name) });
  expect(found).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  expect(found.length).toBeLessThanOrEqual(253);
  expect(found).toMatch(/\.[0-9a-f]{20}$/);
});

test.each(tables.heads)('the name of %j begins with %j', (name, head) => {
  expect(named({ regarding: nodeRef(name) }).slice(0, -21)).toBe(head);
});

const message = (text: string): string => eventOf(series(), text, nine).message;

test.each([
  ['nothing', ''],
  ['1,024 bytes', 'x'.repeat(1024)],
  ['1,024 bytes in 512 characters', 'é'.repeat(512)],
])('a message of %s is kept', (_, text) => {
  expect(message(text)).toBe(text);
});

test.each([
  ['one byte', 'x'],
  ['two bytes', 'é'],
  ['three bytes', '→'],
  ['four bytes', '🐳'],
])('a message that is too long is cut between characters of %s', (_, character) => {
  const text = character.repeat(1025);
  const cut = message(text);
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1024);
  expect(Buffer.byteLength(cut)).toBeGreaterThan(1024 - 4);
  expect(cut).toMatch(new RegExp(`^(?:${character})+…$`, 'u'));
});

test.each(tables.cuts)('%j in %d bytes is %j', (text, max, expected) => {
  expect(cutBytes(text, max)).toBe(expected);
});

test("a count past the API's largest is cut, because the Event would be refused", () => {
  expect(eventOf(series({ count: 3_000_000_000 }), '', nine).count).toBe(2_147_483_647);
});
