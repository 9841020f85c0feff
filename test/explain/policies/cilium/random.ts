/**
 * Random policies of Cilium and connections, the same for the same seed. `verdicts.txt` has the answers of Cilium's own
 * engine about them.
 */
import type { End, PolicyFlow } from '../../../../src/explain/policies/policies.ts';
import { createRandom } from '../../../soak/random.ts';
import { connection, postgres, worker } from '../rows.ts';
import { cnp } from './cases.ts';

/** The cases whose answers are kept. */
export const asked = { seed: 20, count: 4000 };

export interface RandomCase {
  readonly policies: readonly object[];
  readonly flow: PolicyFlow;
  readonly direction: 'ingress' | 'egress';
}

type Direction = RandomCase['direction'];

const namespaceLabel = 'k8s:io.kubernetes.pod.namespace';
const prefixes = { ingress: 'from', egress: 'to' } as const;

export function randomCases(seed: number, count: number): RandomCase[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, randomCase);

  function randomCase(): RandomCase {
    const direction = pick(['ingress', 'egress'] as const);
    const policies = upTo(3, 1, (index) => policy(direction, index));
    const source: End = { kind: 'pod', pod: worker, address: '10.65.2.9' };
    const destination: End = { kind: 'pod', pod: postgres, address: '10.65.1.4' };
    const flow = {
      ...connection,
      source,
      destination,
      protocol: pick(['TCP', 'TCP', 'UDP', 'SCTP']),
      port: pick([5432, 80, 5000, 5433]),
    };
    if (chance(0.5)) return { policies, flow, direction };
    const other = pick<End>([
      ...['192.0.2.7', '192.0.2.9', '198.51.100.1', '203.0.113.1'].map((address): End => ({
        kind: 'external',
        address,
      })),
      // A Node other than the one of the Pod whose policies are evaluated.
      { kind: 'node', node: { name: 'node-c', labels: {} }, address: '192.168.7.13' },
    ]);
    return { policies, flow: { ...flow, [direction === 'ingress' ? 'source' : 'destination']: other }, direction };
  }

  function policy(direction: Direction, index: number): object {
    const rules = (least: number): object[] => upTo(3, least, () => rule(direction));
    const spec: Record<string, unknown> = { endpointSelector: chance(0.6) ? {} : selector() };
    if (chance(0.8)) spec[direction] = rules(1);
    if (spec[direction] === undefined || chance(0.3)) spec[`${direction}Deny`] = rules(1);
    // Some policies concern only the other direction.
    if (chance(0.05)) {
      delete spec[direction];
      delete spec[`${direction}Deny`];
      spec[direction === 'ingress' ? 'egress' : 'ingress'] = [{}];
    }
    if (chance(0.2)) spec['enableDefaultDeny'] = { [direction]: chance(0.3) };
    const own = cnp(
      spec,
      `policy-${index}`,
      pick(direction === 'ingress' ? ['shop', 'shop', 'batch'] : ['batch', 'batch', 'shop']),
    );
    if (chance(0.7)) return own;
    return { ...own, kind: 'CiliumClusterwideNetworkPolicy', metadata: { name: `policy-${index}` } };
  }

  function rule(direction: Direction): object {
    const named = peers(prefixes[direction]);
    return chance(0.5)
      ? named
      : { ...named, toPorts: upTo(2, 1, () => ({ ports: upTo(2, 1, () => port(direction)) })) };
  }

  function peers(prefix: 'from' | 'to'): object {
    return pick([
      () => ({}),
      () => ({ [`${prefix}Endpoints`]: upTo(2, 0, selector) }),
      () => ({ [`${prefix}Endpoints`]: [selector()] }),
      () => ({
        [`${prefix}Entities`]: upTo(2, 0, () =>
          pick(['all', 'world', 'cluster', 'remote-node', 'host', 'none', 'init', 'health']),
        ),
      }),
      () => ({
        [`${prefix}CIDR`]: [pick(['192.0.2.0/24', '192.0.2.7', '10.0.0.0/8', '0.0.0.0/0', '198.51.100.0/24'])],
      }),
      () => ({ [`${prefix}CIDRSet`]: [network()] }),
    ])();
  }

  function network(): object {
    return pick([
      { cidr: '192.0.2.0/24' },
      { cidr: '192.0.2.0/24', except: ['192.0.2.4/30'] },
      { cidr: '0.0.0.0/0', except: ['192.0.2.0/24'] },
      { cidr: '10.0.0.0/8', except: ['10.65.0.0/16'] },
    ]);
  }

  /** Cilium's engine alone does not know the port names of other Pods. */
  function port(direction: Direction): object {
    const protocol = chance(0.7) ? { protocol: pick(['TCP', 'UDP', 'ANY', 'SCTP']) } : {};
    const single = pick(direction === 'ingress' ? ['5432', '80', '0', 'db'] : ['5432', '80', '0']);
    return chance(0.25)
      ? { port: '5000', endPort: pick([5431, 5432, 6000]), ...protocol }
      : { port: single, ...protocol };
  }

  function selector(): object {
    return pick([
      () => ({}),
      () => ({ matchLabels: { app: pick(['worker', 'postgres', 'web']) } }),
      () => ({ matchLabels: { 'k8s:app': pick(['worker', 'postgres']) } }),
      () => ({ matchLabels: { [namespaceLabel]: pick(['batch', 'shop']) } }),
      () => ({ matchLabels: { 'any:app': 'worker', [namespaceLabel]: pick(['batch', 'shop']) } }),
      () => ({ matchLabels: { 'io.cilium.k8s.namespace.labels.team': pick(['batch', 'shop']) } }),
      () => ({ matchLabels: { 'io.cilium.k8s.policy.serviceaccount': pick(['runner', 'default']) } }),
      () => ({
        matchExpressions: [{ key: pick(['app', 'k8s:tier', 'gone']), operator: pick(['Exists', 'DoesNotExist']) }],
      }),
      () => ({
        matchExpressions: [
          {
            key: pick(['app', 'any:tier', 'gone', namespaceLabel]),
            operator: pick(['In', 'NotIn']),
            values: pick([['worker'], ['b', 'worker'], ['postgres'], ['batch', 'shop']]),
          },
        ],
      }),
    ])();
  }

  function chance(share: number): boolean {
    return random() < share;
  }

  function pick<T>(from: readonly T[]): T {
    return from[Math.floor(random() * from.length)] as T;
  }

  function upTo<T>(most: number, least: number, make: (index: number) => T): T[] {
    return Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, (_, index) => make(index));
  }
}
