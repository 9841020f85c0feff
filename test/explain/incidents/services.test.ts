import { expect, test } from 'vitest';
import type { Backend, ServiceChains } from '../../../src/base/model/incident.ts';
import { serviceLimit, servicesOf } from '../../../src/explain/incidents/reporting/details.ts';
import type { ObjectRef } from '../../../src/base/model/endpoint.ts';
import { backend as backendOf, postgresService } from '../../builders.ts';

const ref = (name: string): ObjectRef => ({ ...postgresService, name, uid: `uid-of-${name}` });

/** A chain `db:sql` belongs to port `sql` of the Service `shop/db`; one without a colon has no owner. */
function chains(backends: readonly Backend[] = []): ServiceChains {
  return {
    ownerOf(chain) {
      const [service = '', port] = chain.split(':');
      return port === undefined ? undefined : { service: ref(service), port, deleted: service === 'gone' };
    },
    backendsOf: () => backends,
  };
}

const backend = (name: string, given: Partial<Backend> = {}): Backend =>
  backendOf({ pod: { namespace: 'shop', name }, address: '10.244.1.30', ...given });

test('several chains of one Service are one Service with several ports', () => {
  expect(servicesOf(['db:sql', 'db:metrics', 'db:sql'], chains()).services).toMatchObject([
    { object: ref('db'), ports: ['sql', 'metrics'], deleted: false },
  ]);
});

test('chains without an owner are skipped', () => {
  expect(servicesOf(['KUBE-MARK-MASQ', 'db:sql'], chains())).toMatchObject({
    services: [{ object: ref('db') }],
    more: 0,
  });
});

test('a deleted Service is named as deleted', () => {
  expect(servicesOf(['gone:http'], chains()).services).toMatchObject([{ deleted: true }]);
});

test('Services past the limit are counted, each once whatever its ports', () => {
  const names = Array.from({ length: serviceLimit + 3 }, (_, i) => `service-${i}`);
  const subjects = names.flatMap((name) => [`${name}:http`, `${name}:metrics`]);
  const { services, more } = servicesOf(subjects, chains());
  expect([services.length, more]).toEqual([serviceLimit, 3]);
});

test('the first backends are named, with their nodes', () => {
  const backends = [
    backend('db-0'),
    backend('db-1', { node: undefined }),
    backend('', { pod: undefined }),
    backend('db-3'),
    backend('db-4'),
  ];
  expect(servicesOf(['db:sql'], chains(backends)).services).toMatchObject([
    { backends: ['shop/db-0 on node-b', 'shop/db-1', '10.244.1.30 on node-b'], moreBackends: 2 },
  ]);
});
