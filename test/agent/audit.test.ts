import { expect, test } from 'vitest';
import { packetSink } from '../../src/agent/ingest.ts';
import type { Audit } from '../../src/publish/audit/audit.ts';
import type { Drop } from '../../src/count/pipeline/pipeline.ts';
import { ends, line, nine, observation } from '../builders.ts';

type Verdicts = Parameters<typeof packetSink>[1];
type Verdict = Verdicts[number];

const drop = (given: object): Drop =>
  ({
    line: line({ time: nine }),
    observation: { ...observation(), ...given },
    meaning: { ends: ends() },
    weight: 3,
  }) as unknown as Drop;

function rig(verdicts: Verdicts, given: { audit?: boolean } = {}) {
  const seen: unknown[] = [];
  const audit = {
    count: (_: object, __: unknown, packets: number, time: number) => seen.push(['audit', packets, time]),
    lost: (suppressed: unknown, time: number) => seen.push(['lost', suppressed, time]),
  } as unknown as Audit;
  const owners = { count: (_: unknown, __: unknown, packets: number) => void seen.push(['owners', packets]) };
  return { seen, sink: packetSink(given.audit === false ? undefined : audit, verdicts, owners, undefined) };
}

test.each<[Verdicts, object, boolean]>([
  [['dropped'], { verdict: 'dropped' }, true],
  [['rejected'], { verdict: 'dropped' }, false],
  [['rejected'], { verdict: 'rejected' }, true],
  [['dropped'], { kind: 'martian', verdict: undefined }, true],
  [['rejected'], { kind: 'martian', verdict: undefined }, false],
  [[], { verdict: 'dropped' }, false],
])('with AUDIT_VERDICTS %j a drop %j is a record: %s', (verdicts, given, isRecord) => {
  const { sink, seen } = rig(verdicts);
  sink.drop(drop(given));
  expect(seen).toEqual([['owners', 3], ...(isRecord ? [['audit', 3, nine]] : [])]);
});

test.each<[Verdicts, Verdict, boolean]>([
  [['logged'], 'logged', true],
  [['logged'], 'accepted', false],
  [['accepted'], 'accepted', true],
  [['accepted'], 'logged', false],
])('with AUDIT_VERDICTS %j a packet that was %s is a record: %s', (verdicts, verdict, isRecord) => {
  const { sink, seen } = rig(verdicts);
  sink.logged?.(drop({ verdict }));
  expect(seen).toEqual(isRecord ? [['audit', 3, nine]] : []);
});

test.each<[Verdicts, { audit?: boolean }]>([
  [['dropped', 'rejected'], {}],
  [['logged', 'accepted'], { audit: false }],
])('with AUDIT_VERDICTS %j and %j, packets that were not dropped are ignored', (verdicts, given) => {
  expect(rig(verdicts, given).sink.logged).toBeUndefined();
});

test('the audit has a gap record for lost lines', () => {
  const suppressed = { kind: 'suppressed', by: 'kmsg', count: 7, affects: 'everything' } as const;
  const { sink, seen } = rig(['dropped']);
  sink.gap?.(suppressed, nine);
  expect(seen).toEqual([['lost', suppressed, nine]]);
});
