import { closeSync, openSync, writeSync } from 'node:fs';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { gap, row, verdictOf } from '../../cli/report/scene.ts';
import { createRandom } from '../../soak/random.ts';

const namespaces = ['shop', 'batch', 'payments', 'monitoring', 'kube-system', 'ingress-nginx', 'search', 'media', 'ci'];
const workloads = ['web', 'worker', 'postgres', 'redis', 'api', 'cart', 'indexer', 'gateway', 'exporter', 'mailer'];
const kinds = ['Deployment', 'StatefulSet', 'DaemonSet'];
const ports = [5432, 6379, 8080, 443, 53, 9090, 3306];
const week = 7 * 24 * 60;

/** The same rows each time, over a week: some flows are frequent, most are rare, and every thousandth row is a gap. */
export function writeRows(path: string, count: number): void {
  const file = openSync(path, 'w');
  const random = createRandom(1);
  let text = '';
  for (let number = 0; number < count; number++) {
    // Before the rows of the scene, so that no row is later than now.
    const minute = Math.floor((number / count) * week) - week;
    text += `${JSON.stringify(number % 1000 === 50 ? { ...gap(minute), 'event.id': `${number}` } : flow(number, minute, random))}\n`;
    if (text.length > 1_000_000 || number === count - 1) {
      writeSync(file, text);
      text = '';
    }
  }
  closeSync(file);
}

function flow(number: number, minute: number, random: () => number): FlowRecord {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() ** 2 * values.length)] as T;
  const [from, to, name] = [pick(namespaces), pick(namespaces), pick(workloads)];
  const outside: FlowRecord = {
    'source.kind': 'external',
    'source.address': `203.0.113.${Math.floor(random() * 250)}`,
    'source.k8s.namespace.name': undefined,
    'source.k8s.owner.kind': undefined,
    'source.k8s.owner.name': undefined,
  };
  return row(minute, {
    'event.id': String(number),
    'event.action': random() < 0.8 ? 'dropped' : 'rejected',
    'k8s.cluster.name': 'prod',
    'k8s.node.name': `node-${Math.floor(random() * 40)}`,
    'network.packets': 1 + Math.floor(random() ** 6 * 400),
    'source.address': `10.244.${Math.floor(random() * 40)}.${Math.floor(random() * 250)}`,
    'source.k8s.namespace.name': from,
    'source.k8s.owner.kind': pick(kinds),
    'source.k8s.owner.name': name,
    ...(random() < 0.15 ? outside : {}),
    'destination.address': `10.244.${Math.floor(random() * 40)}.${Math.floor(random() * 250)}`,
    'destination.port': pick(ports),
    'destination.k8s.namespace.name': to,
    'destination.k8s.owner.name': pick(workloads),
    'security_rule.name': `default-deny-${to}`,
    'policy.namespace': to,
    ...policiesOf(to, random(), random()),
  });
}

/** One or two policies deny most of them, and policies admit some; nothing is known of the others. */
function policiesOf(namespace: string, of: number, which: number): FlowRecord {
  const deny = `NetworkPolicy ${namespace}/default-deny-${namespace}`;
  const other = `NetworkPolicy ${namespace}/allow-${workloads[Math.floor(which * workloads.length)]}`;
  if (of < 0.4) return verdictOf('denied', deny);
  if (of < 0.7) return verdictOf('denied', deny, other);
  if (of < 0.8) return verdictOf('admitted', other);
  return {};
}
