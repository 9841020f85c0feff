import { sumOf } from '../agent-rig.ts';
import { events, failing, heal, refusedWrites, status } from './answers.ts';
import { testFaults } from './suite.ts';

/** Tests answers of an API server, or of what stands before it, that is not well: a proxy in front of the real one gives them. */

const eventsOfOther = /^\w+ \/api\/v1\/namespaces\/[^/]+-other\/events/;

testFaults({ name: 'answers', subnet: '10.110' }, [
  {
    title: '429 to everything, with Retry-After',
    begin: failing(status(429, 'TooManyRequests', { 'retry-after': '2' })),
    lasts: refusedWrites(429, 3),
    end: heal,
    problems: ['throttled'],
  },
  {
    title: '503 to everything',
    begin: failing(status(503, 'ServiceUnavailable')),
    lasts: refusedWrites(503, 3),
    end: heal,
    problems: ['api server'],
  },
  {
    title: '500 to writes of Events alone',
    begin: failing(status(500, 'InternalError'), events, false),
    lasts: refusedWrites(500, 2),
    end: heal,
    problems: ['event failed'],
  },
  {
    title: '429 to the Events of one namespace (EventRateLimit), without Retry-After',
    // The admission plugin uses these words.
    begin: failing(
      status(429, 'TooManyRequests', {}, 'Too many requests: limit reached on type Namespace for key other'),
      eventsOfOther,
      false,
    ),
    goesOn: true,
    lasts: refusedWrites(429, 3),
    end: heal,
    problems: ['throttled'],
  },
  {
    title:
      'no answer to the Events of one namespace, as if its admission webhook hung: those of others are written meanwhile',
    begin: failing(() => {}, eventsOfOther, false),
    goesOn: true,
    lasts: refusedWrites(0, 2),
    end: heal,
    problems: ['api server'],
  },
  {
    title: 'Events of one namespace that are admitted after eight seconds: those of others are written meanwhile',
    begin: failing(
      ({ pass, response }) => {
        const timer = setTimeout(pass, 8000);
        response.on('close', () => clearTimeout(timer));
      },
      eventsOfOther,
      false,
    ),
    goesOn: true,
    lasts: ({ rig, otherNamespace }) => rig.untilEvents(otherNamespace, (all) => sumOf(all, 'other') === 6),
    end: heal,
    problems: [],
  },
  {
    title: 'connections that are cut when a request has come',
    begin: failing(({ response }) => void response.destroy()),
    lasts: refusedWrites(0, 3),
    end: heal,
    problems: ['api server'],
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
  {
    title: 'connections that are closed after each answer',
    begin: failing(({ response, pass }) => {
      response.shouldKeepAlive = false;
      pass();
    }),
    end: heal,
    problems: [],
  },
]);
