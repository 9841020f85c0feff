import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createClock } from '../../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../../src/read/sources/envelopes/read-envelope.ts';
import { forAll } from '../../for-all.ts';

const prefixes = createPrefixTable();
const packet =
  '[  100.526784] calico-drop: IN=cali1 OUT=cali2 SRC=10.9.0.1 DST=10.9.1.1 LEN=60 TTL=63 ID=1 PROTO=TCP SPT=4 DPT=5 SYN';

function meaningOf(line: string): string | undefined {
  const { text, origin, program } = readEnvelope(line, createClock({ latest: 0 }));
  return parse(text, prefixes, origin, program)?.kind;
}

/** Fields that collectors write about a container in addition to its line. */
const names: readonly object[] = [
  { kubernetes: { namespace_name: 'evil', pod_name: 'e0', container_name: 'kernel' } },
  { kubernetes: { container: { name: 'ulogd' } } },
  { kubernetes: 'kernel' },
  { 'kubernetes.container.name': 'kernel' },
  { labels: { container: 'kernel', namespace: 'evil' } },
  { labels: { pod: 'e0' } },
  { k8s: { pod: { name: 'e0' } } },
  { resource: { type: 'k8s_container', labels: { container_name: 'kernel' } } },
  { resource: { attributes: [{ key: 'k8s.container.name', value: { stringValue: 'kernel' } }] } },
  { PodName: 'e0', ContainerName: 'kernel' },
  { container_name: '/kernel', container_id: 'f00' },
  { docker: { container_id: 'f00' } },
  { file: '/var/log/pods/evil_e0_x/app/0.log' },
  { log: { file: { path: '/var/log/pods/evil_e0_x/app/0.log' } } },
  { filename: `/var/log/containers/e0_evil_app-${'0a'.repeat(32)}.log` },
  { io: { kubernetes: { container: { name: 'kernel' } } } },
];

const anyName = fc.constantFrom(...names);
const anyKey = fc.constantFrom('message', 'msg', 'text', 'line', 'body', 'textPayload', '_raw', 'event');

/** Ways in which files keep such records; some are not JSON by themselves. */
const keepings: readonly ((record: object) => string)[] = [
  (record) => JSON.stringify(record),
  (record) => `${JSON.stringify(record)} `,
  (record) => `${JSON.stringify(record)},`,
  (record) => `[${JSON.stringify(record)}]`,
  (record) => `[ ${JSON.stringify(record)},`,
  (record) => JSON.stringify({ fields: record }),
  (record) => JSON.stringify({ _source: record }),
  (record) => JSON.stringify({ text: JSON.stringify(record) }),
  (record) => `app: ${JSON.stringify(record)}`,
  (record) => `2026-11-21T10:15:03Z ${JSON.stringify(record)}`,
  (record) =>
    JSON.stringify(record, undefined, 2)
      .split('\n')
      .find((line) => line.includes('IN=')) ?? '',
  (record) => JSON.stringify(record).slice(0, -1),
];

test("a container's line is never the kernel's, for any key of its text and any field that names the container", () => {
  forAll(
    [anyName, anyKey, fc.constantFrom(...keepings), fc.boolean()],
    { numRuns: 2000 },
    (name, key, keep, isFirst) => {
      const record = isFirst ? { [key]: packet, ...name } : { ...name, [key]: packet };
      const line = keep(record);
      expect([line, meaningOf(line)]).toStrictEqual([line, 'refused']);
    },
  );
});

test('a record that names no container is read like its bare line', () => {
  for (const key of ['log', 'message']) {
    expect(meaningOf(JSON.stringify({ [key]: packet }))).toBe('packet');
    expect(meaningOf(JSON.stringify({ [key]: packet, labels: { job: 'kernel', filename: '/var/log/kern.log' } }))).toBe(
      'packet',
    );
    expect(meaningOf(JSON.stringify({ [key]: packet, 'k8s.node.name': 'node-a', host: 'node-a' }))).toBe('packet');
  }
});

test('the message does not name the container, because any program chooses it', () => {
  const text = '/var/log/pods/evil_e0_x/app/0.log';
  expect(readEnvelope(JSON.stringify({ log: text }), createClock({ latest: 0 })).container).toBeUndefined();
});

test('an endless record takes little time', () => {
  const deep = `{"log":"x","a":${'{"a":'.repeat(2000)}1${'}'.repeat(2001)}`;
  const wide = JSON.stringify({
    log: 'x',
    ...Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i])),
  });
  for (const line of [deep, wide]) expect(readEnvelope(line, createClock({ latest: 0 })).text).toBe('x');
});
