import { expect, test } from 'vitest';
import { createAgentIncidents } from '../../../src/agent/incidents.ts';
import type { ClusterContext } from '../../../src/agent/cluster.ts';
import type { Config } from '../../../src/agent/config/config.ts';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { IncidentDetails } from '../../../src/base/model/incident.ts';
import { parseProgramRecord } from '../../../src/read/parsing/components/program-record.ts';
import { chainHash, hashedTexts } from '../../../src/explain/resolving/service-chains/chain-name.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { line, nine, node, service } from '../../builders.ts';

const names = ['api', 'web'];
const slicesPath = (path: string): string | undefined => /namespaces\/shop\/endpointslices/.exec(path)?.[0];

function slice(name: string): unknown {
  return {
    metadata: { namespace: 'shop', name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.65.1.4'], targetRef: { kind: 'Pod', namespace: 'shop', name: `${name}-0` } }],
  };
}

test('the backends of all named Services are requested at once', async () => {
  const lists = createLiveLists('node-a', undefined);
  lists.setNode(node());
  for (const name of names) lists.setService(service({ name, uid: `uid-of-${name}` }), nine);
  const asked: string[] = [];
  const all = Promise.withResolvers<void>();
  const published = Promise.withResolvers<Finding>();
  const connection = {
    async request(_: string, path: string, { query = {} }: { query?: Record<string, unknown> } = {}) {
      if (slicesPath(path) === undefined) return { kind: 'refused', status: 404 };
      const name = String(query['labelSelector']).split('=')[1] ?? '';
      asked.push(name);
      if (asked.length === names.length) all.resolve();
      await all.promise;
      return { kind: 'answered', body: { items: [slice(name)] } };
    },
  };
  const incidents = createAgentIncidents({
    config: { node: 'node-a', procRoot: '/nowhere' } as Config,
    context: {
      lists,
      connection,
      cluster: { synced: true, nodeCount: 0, watches: () => false },
    } as unknown as ClusterContext,
    restored: undefined,
    count: (finding) => published.resolve(finding),
    problems: { incident: () => {}, api: { felix: () => {} } },
    now: () => nine,
  });
  for (const [i, name] of names.entries()) {
    const chain = `KUBE-SVC-${chainHash(hashedTexts('shop', name, 'http', 'tcp')[0] ?? '')}`;
    const text = `E1121 09:00:00.910840       1 proxier.go:1564] "Failed to execute iptables-restore" err="Couldn't load target \`${chain}':No such file or directory" ipFamily="IPv4"`;
    const record = parseProgramRecord(text);
    if (record !== undefined) incidents.take(record, line({ source: 'kube-proxy', text, time: nine + i * 30_000 }));
  }
  const { services } = (await published.promise).details as IncidentDetails;
  expect(services.map(({ object, backends }) => [object.name, backends])).toEqual([
    ['api', ['shop/api-0']],
    ['web', ['shop/web-0']],
  ]);
});
