import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerLimit, decodeAnswer, encodeAnswer, podLimit } from '../../../src/agent/directory/replicas.ts';
import { nine, pod } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const tables: { refused: object[]; corrected: [object, object][] } = {
  // Wrong answers of a shared directory.
  refused: [
    { namespace: 'Shop' },
    { namespace: 'a/b' },
    { name: '../secrets' },
    {
      name: 'pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp',
    },
    { name: '\u001b[31mred' },
    { uid: '' },
    { uid: 'uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu' },
    { addresses: ['10.65.2.10'] },
    { addresses: '10.65.2.9' },
    {
      addresses: [
        '10.65.3.0',
        '10.65.3.1',
        '10.65.3.2',
        '10.65.3.3',
        '10.65.3.4',
        '10.65.3.5',
        '10.65.3.6',
        '10.65.3.7',
        '10.65.3.8',
        '10.65.3.9',
        '10.65.3.10',
        '10.65.3.11',
        '10.65.3.12',
        '10.65.3.13',
        '10.65.3.14',
        '10.65.3.15',
        '10.65.2.9',
      ],
    },
    { name: { toString: 'x' } },
  ],
  corrected: [
    [{ workload: { kind: 'Stateful Set', name: 'db' } }, { workload: undefined }],
    [
      { workload: { kind: 'Deployment', namespace: 'other', name: 'db' } },
      { workload: { kind: 'Deployment', namespace: 'shop', name: 'db' } },
    ],
    [{ role: 'dns' }, { role: undefined }],
    [{ namespace: 'kube-system', role: 'dns' }, { role: 'dns' }],
    [{ namespace: 'kube-system', role: 'metadata' }, { role: undefined }],
    [{ node: 'node b' }, { node: undefined }],
    [{ from: 'x' }, { from: -Infinity }],
    [{ hostNetwork: true }, { hostNetwork: false }],
    [{ addresses: ['10.65.2.9', '10.065.2.1', 7, 'fd00::0:1'] }, { addresses: ['10.65.2.9'] }],
  ],
};

const clock = { toWall: (time: number) => time, fromWall: (stamp: number) => stamp };
const db = pod({
  name: 'db-0',
  node: 'node-b',
  addresses: ['10.65.2.9', 'fd00:65::9'],
  workload: { kind: 'StatefulSet', namespace: 'shop', name: 'db' },
  ports: ',postgres=5432/tcp,',
  from: nine,
});

test('a decoded answer equals the encoded one', () => {
  const gone = pod({ name: 'job', addresses: ['10.65.2.9'], from: nine - 9000, until: nine - 1000, running: false });
  const owners = { pods: [db, gone], node: undefined };
  expect(decodeAnswer(encodeAnswer(owners, clock), '10.65.2.9', clock)).toEqual(owners);
  expect(decodeAnswer(encodeAnswer({ pods: [], node: 'node-b' }, clock), '192.168.7.12', clock)).toEqual({
    pods: [],
    node: 'node-b',
  });
});

test('times are sent as wall-clock times', () => {
  const ahead = { toWall: (time: number) => time + 5000, fromWall: (stamp: number) => stamp - 7000 };
  const [read] = decodeAnswer(encodeAnswer({ pods: [db] }, ahead), '10.65.2.9', ahead).pods;
  expect([read?.from, read?.until]).toEqual([nine - 2000, Infinity]);
});

test('Pods that have the address come first, then the latest; the longest names fit', () => {
  const long = { namespace: 'n'.repeat(63), name: 'p'.repeat(253), node: 'n'.repeat(253) };
  const pods = Array.from({ length: 30 }, (_, number) =>
    pod({
      ...db,
      ...long,
      uid: `u${number}`,
      from: nine + number,
      until: number === 3 ? Infinity : nine + 60 + number,
    }),
  );
  const text = encodeAnswer({ pods }, clock);
  expect(Buffer.byteLength(text)).toBeLessThan(answerLimit / 4);
  const read = decodeAnswer(text, '10.65.2.9', clock).pods.map(({ uid }) => uid);
  expect(read).toEqual(['u3', 'u29', 'u28', 'u27', 'u26', 'u25', 'u24', 'u23']);
  expect(read).toHaveLength(podLimit);
});

const decode = (change: object) =>
  decodeAnswer(JSON.stringify({ pods: [{ ...db, until: undefined, ...change }] }), '10.65.2.9', clock).pods;

describe('an answer with invalid content', () => {
  test.each(tables.refused)('names no Pod: %j', (change) => {
    expect(decode(change)).toEqual([]);
  });

  test.each(tables.corrected)('is used as far as it is valid: %j', (change, expected) => {
    expect(decode(change)).toMatchObject([expected]);
  });

  test.each([',ssh)=5432/tcp,', ['ssh'], 5, `,${'a'.repeat(16)}=5432/tcp,`])('names no ports: %j', (ports) => {
    expect(decode({ ports }).map((each) => each.ports)).toEqual([undefined]);
  });

  test.each(['', 'x', 'null', '[]', '{}', '{"pods":{}}'])('is refused: %j', (text) => {
    expect(() => decodeAnswer(text, '10.65.2.9', clock)).toThrow(/JSON|no Pods/);
  });

  test('is limited in size, whatever its content', () => {
    forAll([fc.jsonValue()], {}, (value) => {
      const { pods } = decodeAnswer(JSON.stringify({ pods: [value, db] }), '10.65.2.9', clock);
      expect(pods.every(({ addresses }) => addresses.includes('10.65.2.9'))).toBe(true);
    });
  });
});
