import { expect, vi } from 'vitest';
import { endless, failing, heal, refusedWrites, watches } from './answers.ts';
import type { Scene } from './fault.ts';
import type { Answer } from './proxy.ts';
import { testFaults } from './suite.ts';

/** Watches that are refused, break or never end: by a proxy in front of the real API server. */

const podLists = /^GET \/api\/v1\/pods\?(?!.*watch=true)/;

const goneEvent: Answer = ({ response }) => {
  const object = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: 'too old',
    reason: 'Expired',
    code: 410,
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
};

/** Until the proxy was asked so often, from now on, for what `concerns` matches. */
const asked =
  (concerns: RegExp, times: number) =>
  async ({ proxy }: Scene) => {
    const before = proxy.asked.length;
    const isEnough = (): boolean => proxy.asked.slice(before).filter((each) => concerns.test(each)).length >= times;
    await vi.waitUntil(isEnough, { timeout: 120_000, interval: 50 });
  };

/** A pause before each, which grows to half a minute. */
function expectNoStorm({ proxy }: Scene): void {
  expect(proxy.asked.filter((each) => podLists.test(each)).length).toBeLessThan(20);
  expect(proxy.asked.filter((each) => watches.test(each)).length).toBeLessThan(80);
}

testFaults({ name: 'watches', subnet: '10.115' }, [
  {
    title: '410 in every watch: lists again and again, with pauses',
    begin: failing(goneEvent, watches),
    goesOn: true,
    lasts: asked(podLists, 3),
    end: heal,
    problems: [],
    check: expectNoStorm,
  },
  {
    title: 'lists, watches and answers that never end',
    begin: failing(endless),
    lasts: refusedWrites(0, 3),
    end: heal,
    problems: ['api server'],
    // A list of policies that does not end is one that is too large.
    tolerated: ['large networkpolicies of Namespace '],
    check: expectNoStorm,
  },
]);
