import { expect } from 'vitest';
import { sumOf } from '../../agent-rig.ts';
import { endless, events, failing, heal, refusedWrites, status, watches } from '../answers.ts';
import type { Fault, Scene, FaultRows } from '../fault.ts';

/**
 * Tests answers of an API server, or of a program in front of it, that come too late, break off or are wrong: a proxy
 * in front of the real API server gives them. What each status causes: test/publish/events/publisher.test.ts,
 * test/agent/kubernetes/informer.test.ts.
 */

const podLists = /^GET \/api\/v1\/pods\?(?!.*watch=true)/;

/** There is a pause before each request, which grows to half a minute. */
function expectNoStorm({ proxy }: Scene): void {
  expect(proxy.asked.filter((each) => podLists.test(each)).length).toBeLessThan(20);
  expect(proxy.asked.filter((each) => watches.test(each)).length).toBeLessThan(80);
}

export const answersRows: FaultRows = {
  name: 'answers',
  subnet: '10.110',
  rows: [
    {
      title: '429 to everything, with Retry-After',
      begin: failing(status(429, 'TooManyRequests', { 'retry-after': '2' })),
      lasts: refusedWrites(429, 3),
      end: heal,
      problems: ['throttled'],
    },
    {
      title: 'Events of one namespace that are admitted after eight seconds: those of others are written meanwhile',
      begin: failing(
        ({ pass, response }) => {
          const timer = setTimeout(pass, 8000);
          response.on('close', () => clearTimeout(timer));
        },
        /^\w+ \/api\/v1\/namespaces\/[^/]+-other\/events/,
        false,
      ),
      goesOn: true,
      lasts: ({ rig, otherNamespace }) => rig.untilEvents(otherNamespace, (all) => sumOf(all, 'other') === 6),
      end: heal,
      problems: [],
    },
    {
      title: 'answers that are cut in the middle, of requests that were carried out',
      begin: failing(async ({ ask, response }) => {
        const { status: code, body } = await ask();
        response
          .writeHead(code, { 'content-length': body.length })
          .write(body.subarray(0, body.length / 2), () => response.destroy());
      }, events),
      lasts: refusedWrites(0, 3),
      end: heal,
      problems: ['api server'],
    },
    {
      title: 'answers that come a byte a second',
      begin: failing(({ response }) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 1000);
        response.on('close', () => clearInterval(timer));
      }),
      lasts: refusedWrites(0, 1),
      end: heal,
      problems: ['api server'],
    },
    {
      title: 'a page of HTML with status 200 to everything',
      begin: failing(
        ({ response }) =>
          void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>\u001b[31mPlease log in</html>'),
      ),
      lasts: refusedWrites(0, 3),
      end: heal,
      problems: ['api server'],
    },
    ...[404, 405, 403, 410, 409, 307].map((code): Fault => ({
      title: `a page of HTML with status ${code} to everything: nothing is given up`,
      begin: failing(
        ({ response }) => void response.writeHead(code, { 'content-type': 'text/html' }).end('<html>default backend'),
      ),
      lasts: refusedWrites(code, 3),
      end: heal,
      problems: ['api server'],
    })),
    {
      title: 'connections that are closed after each answer',
      begin: failing(({ response, pass }) => {
        response.shouldKeepAlive = false;
        pass();
      }),
      end: heal,
      problems: [],
    },
    {
      title: 'lists, watches and answers that never end',
      begin: failing(endless),
      lasts: refusedWrites(0, 3),
      end: heal,
      problems: ['api server'],
      // A list of policies that does not end counts as too large.
      tolerated: ['large networkpolicies of Namespace '],
      check: expectNoStorm,
    },
  ],
};
