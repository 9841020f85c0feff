/** ipBlocks that are packed into one clause mean and say the same as separate ones. */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { BlockPeer } from '../../../src/explain/policies/clauses/peers.ts';
import { sentenceOf } from '../../../src/explain/policies/sentence.ts';
import * as address from '../../../src/base/platform/address.ts';
import { forAll } from '../../for-all.ts';
import { runs } from '../../runs.ts';
import { flows } from './arbitraries.ts';
import { evaluator, networkPolicy, pod } from './objects.ts';

vi.mock(import('../../../src/base/platform/address.ts'), async (original) => {
  const real = await original();
  return { ...real, canonicalAddress: vi.fn<typeof real.canonicalAddress>(real.canonicalAddress) };
});

const cidr = fc.oneof(
  fc
    .tuple(fc.constantFrom('10.0.0', '192.0.2', '198.51.100'), fc.nat(255), fc.integer({ min: 20, max: 32 }))
    .map(([begin, last, bits]) => `${begin}.${last}/${bits}`),
  fc.tuple(fc.ipV4(), fc.nat(32)).map(([first, bits]) => `${first}/${bits}`),
  fc.constantFrom('fd00::/64', '10.0.0.0/33', '010.0.0.0/8', '10.0.0.0', '0.0.0.0/0', '255.255.255.255/32', ''),
);
const peer = fc.oneof(
  { weight: 20, arbitrary: cidr.map((each) => ({ ipBlock: { cidr: each } })) },
  fc.constantFrom(
    { podSelector: { matchLabels: { app: 'a' } } },
    { ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/16'] } },
    { ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} },
    { ipBlock: { cidr: '10.0.0.0/8', other: 1 } },
    { ipBlock: null },
    null,
  ),
);
const ports = fc.option(fc.constant([{ protocol: 'TCP', port: 80 }]), { nil: undefined });

test('a rule with many ipBlocks decides, traces and prints like one without the fast path', () => {
  const outcomes = new Set<string>();
  const rule = fc.tuple(fc.array(peer, { minLength: 10, maxLength: 60 }), ports);
  const rules = fc.array(rule, { minLength: 1, maxLength: 3 });
  forAll([rules, flows, fc.boolean()], { numRuns: runs(2000) }, (given, flow, byCilium) => {
    const [packed, plain] = [false, true].map((isPlain) => {
      const ingress = given.map(([peers, some]) => ({
        from: peers.map((each) => (isPlain ? withExcept(each) : each)),
        ...(some !== undefined && { ports: some }),
      }));
      const policies = ['x', 'y'].map((name) => networkPolicy({ podSelector: {}, ingress }, 'many', name));
      const trace = evaluator(policies, []).trace({ ...flow, byCilium }, 'ingress');
      outcomes.add(trace.verdict.outcome);
      return JSON.stringify([trace, sentenceOf(trace, { max: 400 })]);
    });
    expect(packed).toBe(plain);
  });
  expect([...outcomes].toSorted()).toEqual(['admits', 'denies', 'unknown']);
});

/** Adds an empty list, which means nothing, to an ipBlock. */
function withExcept(each: unknown): unknown {
  const block = (each as { ipBlock?: object } | null)?.ipBlock;
  if (block === undefined || block === null || 'except' in block) return each;
  return { ...(each as object), ipBlock: { ...block, except: [] } };
}

test("a verdict over tens of thousands of ipBlocks makes only the texts that it shows, and displaces no packet's address", () => {
  const texts = vi.spyOn(BlockPeer.prototype, 'wants');
  vi.mocked(address.canonicalAddress).mockClear();
  const from = Array.from({ length: 13_000 }, (_, index) => ({
    ipBlock: { cidr: `11.${index >> 8}.${index & 255}.0/24` },
  }));
  const policies = ['a', 'b', 'c', 'd', 'e'].map((name) =>
    networkPolicy({ podSelector: {}, ingress: [{ from }] }, name),
  );
  const { trace } = evaluator(policies, []);
  const { nearest, verdict } = trace(
    {
      source: { kind: 'external', address: '203.0.113.9' },
      destination: { kind: 'pod', pod: pod({ name: 'web-0' }), address: '10.0.0.1' },
      protocol: 'TCP',
      port: 80,
    },
    'ingress',
  );
  expect(verdict.outcome).toBe('denies');
  expect(nearest?.rule.groups).toEqual([
    {
      count: 13_000,
      clause: {
        path: 'ingress[0].from[0]',
        match: false,
        wants: 'ipBlock 11.0.0.0/24',
        has: 'is 203.0.113.9',
        about: expect.any(Function),
        inWords: expect.any(Function),
      },
    },
  ]);
  expect(texts).toHaveBeenCalledTimes(1);
  expect(address.canonicalAddress).not.toHaveBeenCalled();
  texts.mockRestore();
});
