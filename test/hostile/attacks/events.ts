import type { Attack, Tenant, TenantObject } from '../attack.ts';
import { mark, oddTexts } from '../words.ts';

/** Events and other objects in its Namespaces that look as if the agent or the system had written them. */
export const eventAttacks: readonly Attack[] = [
  {
    name: 'event-forgery',
    async play(tenant) {
      const [pod] = await tenant.runPods(1);
      for (let index = 0; !tenant.isOver; index++) {
        const namespace = tenant.chance.pick(tenant.namespaces);
        await tenant.put('events', namespace, forged(tenant, namespace, pod?.name ?? mark, index));
        await tenant.put('configmaps', namespace, {
          metadata: { name: 'kube-netfilter-tailer-directory' },
          data: { [mark]: 'x'.repeat(500_000) },
        });
      }
    },
  },
];

function forged(tenant: Tenant, namespace: string, pod: string, index: number): TenantObject {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const component = 'kube-netfilter-tailer';
  return {
    metadata: {
      name: `${pod}.${index.toString(16).padStart(16, '0')}`,
      annotations: {
        [`${component}/state`]: `${mark} 1 2 3`,
        [`${component}/peer`]: tenant.chance.pick(oddTexts),
        [`${component}/node`]: tenant.targets.node,
      },
    },
    involvedObject: { kind: 'Pod', namespace, name: pod },
    reason: 'PacketDrop',
    message: tenant.chance.pick(oddTexts).slice(0, 1000),
    type: 'Warning',
    count: 2 ** 31 - 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component, host: tenant.targets.node },
    reportingComponent: component,
    reportingInstance: `${component}-${tenant.targets.node}`,
  };
}
