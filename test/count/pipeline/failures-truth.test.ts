import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import type { FlowDetails } from '../../../src/base/model/finding.ts';
import type { ServiceTarget } from '../../../src/explain/resolving/resolving.ts';
import { cluster, nine, node, pod, service } from '../../builders.ts';
import { forAllAsync } from '../../for-all.ts';
import { answer, logLine, peerOf, rig, uid } from './failed-connections.ts';

/*
 * Compares the connections that count with the rules of docs/connect-failures.md, read literally. A connection is
 * judged between three seconds and two minutes after it failed. Within these limits the rules leave the moment open, so
 * they say that it must count, that it must not, or nothing.
 */

const second = 1000;
/** What is due at the end of a step still sees the state at its beginning. */
const step = second / 4;
const young = '1b4fe5a1-6d2c-4c35-9d55-5e1c2b2f7a01';
const replacedAt = 60 * second;
const length = 200 * second;
const own = '10.244.1.22';
const pods = ['10.244.1.30', '10.244.1.31', '10.244.1.32'];
/** Lines report packets to this Pod: with their port, a Pod could have more than three ports, and one Event would count all of them. */
const ofLines = '10.244.1.33';
const clusterIp = '10.96.0.7';
/** An address outside the cluster. */
const outside = '198.51.100.7';
/** How the judge is asked about any address. */
const anywhere = '';

/** `cart-0` has the address until `replacedAt`, and then `cart-1`. */
const endpoints = createEndpointFinder(
  cluster({
    pods: [
      pod({ name: 'cart-0', uid, addresses: [own], until: nine + replacedAt }),
      pod({ name: 'cart-1', uid: young, addresses: [own], from: nine + replacedAt }),
      ...[...pods, ofLines].map((address, number) =>
        pod({ name: `db-${number}`, uid: `uid-db-${number}`, addresses: [address] }),
      ),
    ],
    nodes: [node({ addresses: ['192.168.50.12'] })],
    services: [service({ name: 'db', addresses: [clusterIp] })],
  }),
);

interface Attempt {
  at: number;
  of: string;
  to: string;
}

interface LoggedLine {
  at: number;
  /** The connection with the same source port. */
  number: number;
}

interface World {
  attempts: readonly Attempt[];
  lines: readonly LoggedLine[];
  /** The time from which policies can be evaluated. */
  policiesFrom: number;
  /** What policies of the sender deny, in each period of the test. */
  denied: readonly (readonly string[])[];
  /** What policies of the receiver deny, if it is known who that is. */
  refused: readonly (readonly string[])[];
  /** The ready endpoints of the Service, in each period. */
  ready: readonly (readonly string[])[];
  /** The address that Services of others claim. */
  claimedAddress: string;
  /** The ready endpoints of these Services, in each period; undefined if none claims it. */
  claimed: readonly (readonly string[] | 'many' | undefined)[];
}

/** Returns the state of that time. All states last equally long. */
const stateAt = <T>(states: readonly T[], at: number): T =>
  states[Math.min(states.length - 1, Math.floor((at * states.length) / length))] as T;

const someOf = (values: readonly string[]) => fc.subarray([...values]);
const upTo = (seconds: number) => fc.integer({ min: 0, max: seconds }).map((each) => each * second);
const time = upTo(120);
const worldOf = (claimedAddress: string): fc.Arbitrary<World> =>
  fc.record({
    attempts: fc.array(
      fc.record({
        at: time,
        of: fc.constantFrom(uid, young),
        to: fc.constantFrom(
          clusterIp,
          clusterIp,
          ...pods,
          outside,
          '192.168.50.12',
          ...[0, 1, 2, 3].map(() => claimedAddress),
        ),
      }),
      // With more ports of one Pod, one Event would count all of them.
      { minLength: 1, maxLength: 3 },
    ),
    lines: fc.array(fc.record({ at: time, number: fc.integer({ min: 0, max: 5 }) }), { maxLength: 4 }),
    // Below two minutes, for which a connection waits.
    policiesFrom: fc.oneof(fc.constant(0), upTo(110)),
    denied: fc.array(fc.oneof(fc.constant([...pods, outside, anywhere]), fc.constant([]), someOf([...pods, outside])), {
      minLength: 1,
      maxLength: 3,
    }),
    refused: fc.array(fc.oneof(fc.constant(pods), someOf(pods)), { minLength: 1, maxLength: 3 }),
    ready: fc.array(someOf(pods), { minLength: 1, maxLength: 3 }),
    claimedAddress: fc.constant(claimedAddress),
    claimed: fc.array(fc.oneof(someOf(pods), someOf(pods), fc.constant('many' as const), fc.constant(undefined)), {
      minLength: 1,
      maxLength: 3,
    }),
  });
const world = fc.constantFrom(outside, clusterIp, ...pods).chain(worldOf);

/** Each connection has its own port, so that each has its own count. */
const portOf = (number: number): number => 5000 + number;
const sourcePortOf = (number: number): number => 40_000 + number;

/**
 * The connection is judged between these times, at the latest when policies have been known for long enough to be
 * evaluated.
 */
function judgedWithin({ at }: Attempt, { policiesFrom }: World): { from: number; until: number } {
  return { from: at + 3 * second - step, until: Math.max(at, policiesFrom) + 9 * second };
}

/** Returns whether policies deny the connection wherever it may have been forwarded to. */
function isDeniedAt(to: string, moment: number, all: World): boolean {
  const targets = to === clusterIp ? stateAt(all.ready, moment) : to === outside || pods.includes(to) ? [to] : [];
  const denied = stateAt(all.denied, moment);
  const refused = stateAt(all.refused, moment);
  const led = to === all.claimedAddress ? stateAt(all.claimed, moment) : undefined;
  if (targets.length === 0) return false;
  // Who got it is not known, so only the sender's policies count.
  if (led !== undefined)
    return [...targets, ...(led === 'many' ? [anywhere] : led)].every((target) => denied.includes(target));
  return targets.every((target) => denied.includes(target) || refused.includes(target));
}

function ruleOn(number: number, all: World): 'must' | 'must not' | 'may' {
  const attempt = all.attempts[number] as Attempt;
  const { at, of, to } = attempt;
  if (of !== (at < replacedAt ? uid : young)) return 'must not';
  // A line of the Pod that had the address before reports another connection.
  const toldAt = all.lines.flatMap((each) =>
    each.number === number && each.at < replacedAt === at < replacedAt ? each.at : [],
  );
  const { from, until } = judgedWithin(attempt, all);
  // From this line on, the packet has been reported.
  if (toldAt.some((each) => each <= from)) return 'must not';
  const verdicts = new Set<boolean>();
  for (let moment = from; moment <= until; moment += step) {
    verdicts.add(isDeniedAt(to, moment, all));
  }
  if (verdicts.size > 1) return 'may';
  if (verdicts.has(false)) return 'must not';
  return toldAt.length > 0 ? 'may' : 'must';
}

/** Returns how often each connection was counted, and how many were settled. */
async function play(all: World): Promise<{ counts: number[]; settled: number }> {
  let now = 0;
  const targetsOf = (_: unknown, { port }: ServiceTarget): ServiceTarget[] =>
    stateAt(all.ready, now).map((address) => ({ address, port }));
  const { fail, read, wait, series, statistics } = rig(
    {
      targetsOf,
      publishedTargetsOf({ address, port }) {
        const led = address === all.claimedAddress ? stateAt(all.claimed, now) : undefined;
        return typeof led === 'object' ? led.map((each) => ({ address: each, port })) : led;
      },
      judge(finding) {
        if (now < all.policiesFrom) return undefined;
        const isOwn = stateAt(all.denied, now).includes(peerOf(finding));
        const { kind } = (finding.details as FlowDetails).peer;
        const isRefused = kind === 'pod' && stateAt(all.refused, now).includes(peerOf(finding));
        return answer(isOwn || isRefused ? 'denies' : 'admits', '', isOwn);
      },
    },
    { endpoints, worked: () => 0 },
  );
  // What is due at a time is done before the line of that time is read.
  const due = (at: number): boolean => at === now;
  for (; now < length; now += step) {
    for (const { at, number } of all.lines) if (due(at)) read(logLine(sourcePortOf(number), own, ofLines));
    for (const [number, { at, of, to }] of all.attempts.entries())
      if (due(at)) fail({ of, to, port: portOf(number), sourcePort: sourcePortOf(number) });
    await wait(step);
  }
  const counts = all.attempts.map((_, number) =>
    series()
      .filter(({ finding: { details } }) => details.kind === 'flow' && details.port === portOf(number))
      .reduce((sum, { count }) => sum + count, 0),
  );
  return { counts, settled: Object.values(statistics.failures).reduce((sum, each) => sum + each, 0) };
}

test('each connection counts once if the rules deny it, and not at all otherwise', async () => {
  const rules = { must: [1], 'must not': [0], may: [0, 1] };
  const seen = { must: 0, 'must not': 0, may: 0 };
  await forAllAsync([world], { numRuns: 120 }, async (all) => {
    const { counts, settled } = await play(all);
    for (const [number, count] of counts.entries()) {
      const rule = ruleOn(number, all);
      seen[rule]++;
      expect({ number, rule, isRight: rules[rule].includes(count), count }).toEqual({
        number,
        rule,
        isRight: true,
        count,
      });
    }
    expect(settled).toBe(all.attempts.length);
  });
  // The generated worlds have all three results.
  expect(Math.min(seen.must, seen['must not'], seen.may)).toBeGreaterThan(0);
}, 120_000);
