import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chainHash } from '../../src/explain/resolving/service-chains/chain-name.ts';
import type { StoredEvent } from '../e2e/agent-rig.ts';

/** The compared field of the node's incident: its cause. */
export const incidentKey = 'KN102';

/** The chain of the honest tenant's Service `db`. */
const chain = `KUBE-SVC-${chainHash('shop/db:postgrestcp')}`;

/** `stamp`: as klog writes it. */
function recordAt(stamp: string): readonly string[] {
  return [
    `E${stamp}       1 proxier.go:1406] "Failed to execute iptables-restore" err=<`,
    `\texit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file or directory`,
    '\t',
    '\tError occurred at line: 25',
    ' > ipFamily="IPv4"',
  ];
}

/**
 * Logs, as kube-proxy does, that the rules of the honest tenant's Service are missing. An incident begins with the
 * second failure.
 */
export function logIncident(podLogs: string): void {
  const folder = join(podLogs, 'kube-system_kube-proxy-5x7dk_11111111-1111-4111-8111-111111111111', 'kube-proxy');
  mkdirSync(folder, { recursive: true });
  for (const ago of [5000, 0]) {
    const stamp = new Date(Date.now() - ago).toISOString();
    const klog = stamp.replace(/^\d+-(\d+)-(\d+)T(.*)Z$/, '$1$2 $3000');
    appendFileSync(
      join(folder, '0.log'),
      recordAt(klog)
        .map((line) => `${stamp} stderr F ${line}\n`)
        .join(''),
    );
  }
}

export function isIncident({ metadata: { annotations } }: StoredEvent): boolean {
  return annotations?.['kube-netfilter-tailer/code'] === incidentKey;
}

/** Removes what an incident says only of this round: when it began, and how many Pods the node has. */
export function withoutOccasion(message: string): string {
  return message.replace(/ since [\d:]+ UTC/, '').replace(/; \d+ Pods/, '');
}
