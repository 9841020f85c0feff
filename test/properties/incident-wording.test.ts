import fc from 'fast-check';
import { expect, test } from 'vitest';
import { causeOf } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { incidentMessage } from '../../src/explain/incidents/reporting/message.ts';
import { messageOf } from '../../src/count/pipeline/message.ts';
import type { ObjectRef } from '../../src/base/model/endpoint.ts';
import type { IncidentDetails, NamedService } from '../../src/base/model/incident.ts';
import { cutBytes } from '../../src/base/platform/printable.ts';
import { anyNode, anyDetails, detailsOf } from '../explain/incidents/catalogue/details.ts';
import { forAll } from '../for-all.ts';

const runs = { numRuns: 400 };
const limit = 1024;

const weird = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom('', ' ', '\n', '\u2028', '\u202eabc', 'é'.repeat(300), '\ud83d', '👩‍👩‍👧'.repeat(40), '\u0000\u001b[31m'),
  fc.constantFrom('<!channel>', '<https://evil.example|x>', 'a://b'),
  fc.integer({ min: 1, max: 253 }).map((length) => 'n'.repeat(length)),
);
const object: fc.Arbitrary<ObjectRef> = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Service'),
  namespace: weird,
  name: weird,
  uid: fc.constant('u'),
  resourceVersion: fc.constant(undefined),
});
const service: fc.Arbitrary<NamedService> = fc.record({
  object,
  ports: fc.array(weird, { maxLength: 16 }),
  backends: fc.array(weird, { maxLength: 3 }),
  moreBackends: fc.nat(20_000),
  deleted: fc.boolean(),
});
const longName = 'x'.repeat(253);
const longest: NamedService = {
  object: {
    apiVersion: 'v1',
    kind: 'Service',
    namespace: 'n'.repeat(63),
    name: 's'.repeat(63),
    uid: '',
    resourceVersion: undefined,
  },
  ports: ['p'.repeat(15), 'q'.repeat(15)],
  backends: Array.from({ length: 3 }, () => `${'n'.repeat(63)}/${longName} on ${longName}`),
  moreBackends: 5000,
  deleted: false,
};
const details: fc.Arbitrary<IncidentDetails> = fc
  .tuple(
    anyDetails,
    fc.array(fc.oneof({ weight: 3, arbitrary: service }, fc.constant(longest)), { maxLength: 8 }),
    fc.array(weird, { maxLength: 3 }),
  )
  .map(([given, services, names]) =>
    Object.assign({}, given, { services, affected: { count: given.affected.count, names } }),
  );

/** Makes the message that the API server gets. */
function written(given: IncidentDetails, node: string, suppressed = false): string {
  const finding = {
    identity: '',
    reason: '',
    type: 'Warning',
    regarding: longest.object,
    related: undefined,
    node,
  } as const;
  const noValues = { seen: [], past: 0 };
  const published = { count: 0, writes: 0, at: 0, suppressed: false, base: 0, resourceVersion: undefined };
  return cutBytes(
    messageOf({
      finding: { ...finding, details: given },
      window: 0,
      windowEnd: 0,
      count: 1,
      first: 0,
      last: 0,
      suppressed,
      peers: noValues,
      ports: noValues,
      published,
      due: 0,
    }),
    limit,
  );
}

test('any Event message of an incident is one line of at most 1,024 bytes that ends in its code', () => {
  forAll([details, anyNode, fc.boolean()], runs, (given, node, suppressed) => {
    const message = written(given, node, suppressed);
    const { code, diagnosis } = given;
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(limit);
    expect(message.endsWith(code === diagnosis ? ` [${code}]` : ` [${diagnosis}, ${code}]`)).toBe(true);
    expect(message.isWellFormed()).toBe(true);
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    // KN207 has the only URL in our own texts.
    expect(message.replace('https://ADDRESS:PORT/healthz', '')).not.toMatch(/<|:\/\//);
    expect(message).not.toMatch(/\b(?:undefined|null|Infinity)|NaN|\[object|invalid/);
    expect(message).not.toMatch(/^\s| {2}|\s$/);
  });
});

test('the fault and the command to run are never cut', () => {
  forAll([details, anyNode], runs, (given, node) => {
    const open: IncidentDetails = { ...given, role: 'full', phase: 'open' };
    const cause = causeOf(open.diagnosis);
    const message = written(open, node);
    expect(message.startsWith(cause.what(open, node))).toBe(true);
    expect(message).toContain(cause.fix(open, node));
  });
});

test('everything that has room is included', () => {
  const given = detailsOf({
    code: 'KN114',
    diagnosis: 'KN114',
    quote: 'Another app is currently holding the xtables lock. Stopped waiting after 5s.',
    services: [
      {
        ...longest,
        object: { ...longest.object, namespace: 'shop', name: 'web' },
        ports: ['http'],
        backends: ['shop/web-0 on node-b'],
        moreBackends: 1,
      },
    ],
    affected: { count: 12, names: ['shop/web-1', 'shop/db-0'] },
  });
  const message = incidentMessage(given, 'node-a', 'At least.');
  const { what, why, fix } = causeOf('KN114');
  for (const part of [
    what(given, 'node-a'),
    why(given, 'node-a'),
    fix(given, 'node-a'),
    'Seen 3 times since 02:04:30 UTC.',
    'At least.',
    'It logged: "Another app is currently holding the xtables lock. Stopped waiting after 5s."',
    'Affected: Service shop/web port http; 12 Pods.',
    'Behind shop/web: shop/web-0 on node-b and 1 more.',
  ])
    expect(` ${message} `).toContain(` ${part} `);
});

test('Services keep their names if those of their backends do not fit', () => {
  const message = incidentMessage(detailsOf({ code: 'KN114', diagnosis: 'KN114', services: [longest] }), 'node-a');
  expect(message).toContain(`Service ${longest.object.namespace}/${longest.object.name} ports`);
  expect(message).not.toContain('Behind');
});

test('Pods keep their number, whatever their names', () => {
  const names = Array.from({ length: 3 }, () => `${'n'.repeat(63)}/${longName}`);
  expect(incidentMessage(detailsOf({ affected: { count: 110, names } }), 'node-a')).toMatch(
    /Affected: \S+ and 109 more Pods\./,
  );
});

const over = { phase: 'over', ended: 1_795_226_790_836, endedBy: 'silence' } as const;

test.each([
  [{ failures: 1 }, 'Seen once since'],
  [{ failures: 2 }, 'Seen 2 times since'],
  [{ restarts: 1 }, 'with 1 restart of the container'],
  [{ restarts: 4 }, 'with 4 restarts of the container'],
  [{ ...over, failures: 1 }, 'with 1 failure at 02:05:30 UTC.'],
  [{ ...over, failures: 2 }, 'with 2 failures from 02:04:30 UTC to 02:05:30 UTC.'],
  [{ services: [named('http')] }, /Service \S+ port http\./],
  [{ services: [named('http', 'https')] }, /Service \S+ ports http and https\./],
  [{ services: [named('a', 'b', 'c', 'd')] }, /Service \S+ ports a, b, c and 1 more\./],
  [{ services: [named('http')], moreServices: 2 }, /Services \S+ port http and 2 more\./],
  [{ affected: { count: 1, names: ['shop/a'] } }, 'Affected: shop/a.'],
  [{ affected: { count: 2, names: ['shop/a', 'shop/b'] } }, 'Affected: shop/a and 1 more Pod.'],
] as [Partial<IncidentDetails>, string | RegExp][])('numbers agree with their nouns: %j', (parts, expected) => {
  expect(says(parts)).toMatch(expected);
});

function says(parts: Partial<IncidentDetails>): string {
  return incidentMessage(detailsOf({ code: 'KN114', diagnosis: 'KN114', ...parts }), 'node-a');
}

function named(...ports: string[]): NamedService {
  return { ...longest, ports, backends: [], moreBackends: 0 };
}
