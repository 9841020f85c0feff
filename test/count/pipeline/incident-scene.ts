import type { NodeIncidents, NodeIncidentsOptions } from '../../../src/explain/incidents/incidents.ts';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { parseProgramRecord } from '../../../src/read/parsing/components/program-record.ts';
import { line } from '../../builders.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';

export const proxyLog = (restarts = 0, pod = 'x7k2p'): string =>
  `/var/log/pods/kube-system_kube-proxy-${pod}_uid-of-${pod}/kube-proxy/${restarts}.log`;
export const calicoLog = '/var/log/pods/calico-system_calico-node-q2w3e_uid-of-calico/calico-node/0.log';

export const failed = (chain = 'KUBE-SVC-L6LPUQKLZFD5NUFY'): string =>
  `E1121 09:00:00.910840       1 proxier.go:1564] "Failed to execute iptables-restore" err="exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file or directory" ipFamily="IPv4"`;
const retry = 'I1121 09:00:00.910860       1 proxier.go:833] "Sync failed" ipFamily="IPv4" retryingTime="30s"';
export const complete =
  'I1121 09:00:00.910870       1 proxier.go:828] "SyncProxyRules complete" ipFamily="IPv4" elapsed="9ms"';

export interface Published {
  finding: Finding;
  time: Millis;
  weight: number;
}

export interface IncidentScene {
  incidents: NodeIncidents;
  published: Published[];
  /** A program logs this text. */
  say: (text: string, at: Millis, path?: string) => void;
  /** kube-proxy logs a sync that fails. */
  fail: (at: Millis, path?: string, chain?: string) => void;
}

/** The incidents of one node, and all that is published of them. */
export function incidentScene(given: Partial<NodeIncidentsOptions> = {}): IncidentScene {
  const published: Published[] = [];
  const incidents = nodeIncidents((finding, time, weight) => published.push({ finding, time, weight }), given);
  const say: IncidentScene['say'] = (text, at, path = proxyLog()) => {
    const record = parseProgramRecord(text);
    if (record !== undefined) incidents.take(record, line({ source: path, text, time: at }));
  };
  return {
    incidents,
    published,
    say,
    fail(at, path, chain) {
      for (const [i, text] of [failed(chain), retry, complete].entries()) say(text, at + i, path);
    },
  };
}
