import { expect, test } from 'vitest';
import { denierOf } from '../../../src/publish/events/denial.ts';

const tables: { denials: [number, string, ReturnType<typeof denierOf>][] } = {
  // Answers of API servers: the status, the message, and the program that denied the write.
  denials: [
    [403, 'admission webhook "events.example.org" denied the request: no', 'webhook'],
    [403, 'admission webhook "events.example.org" denied the request without explanation', 'webhook'],
    // The status is the webhook's own.
    [401, 'admission webhook "events.example.org" denied the request: who are you', 'webhook'],
    [404, 'admission webhook "events.example.org" denied the request: there is no such tenant', 'webhook'],
    [429, 'admission webhook "events.example.org" denied the request: too many', 'webhook'],
    [403, 'admission webhook "x" denied the request: events is forbidden: User "x" cannot create', 'webhook'],
    [
      422,
      "events \"web.1a2b\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
      'policy',
    ],
    [
      403,
      'events "web.1a2b" is forbidden: ValidatingAdmissionPolicy \'p\' with binding \'b\' denied request: User "x" cannot',
      'policy',
    ],
    [413, 'events "web.1a2b" is forbidden: ValidatingAdmissionPolicy \'p\' denied request: no', 'policy'],
    [
      403,
      'events "web.1a2b" is forbidden: exceeded quota: small, requested: count/events=1, used: count/events=5, limited: count/events=5',
      'quota',
    ],
    [403, 'events "web.1a2b" is forbidden: status unknown for quota: small, resources: count/events', 'quota'],
    [403, 'events "web.1a2b" is forbidden: failed quota: small: must specify cpu', 'quota'],
    [403, 'events "web.1a2b" is forbidden: not in this shop', 'admission'],
    [
      403,
      'events is forbidden: User "system:serviceaccount:a:b" cannot create resource "events" in API group ""',
      undefined,
    ],
    [
      403,
      'events "web.1a2b" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "events" in API group ""',
      undefined,
    ],
    [403, 'Forbidden', undefined],
    [403, '<html>403</html>', undefined],
    [403, '', undefined],
    [404, 'events "web.1a2b" not found', undefined],
    [500, 'Internal error occurred: failed calling webhook "events.example.org": connection refused', undefined],
    [0, 'admission webhook "x" denied the request: never said', undefined],
  ],
};

const forbidden = 'events "web.1a2b" is forbidden: ';

test.each(tables.denials)(
  'the program that denied a write is recognized by status %i and text: %s',
  (status, message, denier) => {
    expect(denierOf({ status, reason: '', message })).toBe(denier);
  },
);

test('a namespace that is being deleted does not count as a denial', () => {
  const message = `${forbidden}unable to create new content in namespace shop because it is being terminated`;
  expect(denierOf({ status: 403, reason: 'NamespaceTerminating', message })).toBeUndefined();
});
