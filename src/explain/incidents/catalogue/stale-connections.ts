import type { CauseRow } from './cause.ts';
import { textOfRecord } from './record-text.ts';
import { bracketed } from './texts.ts';

/** Beginnings of kube-proxy's errors about tracked connections [1.2 to 1.37: pkg/proxy/conntrack, before 1.28 in pkg/proxy/iptables and ipvs]. */
const cannotDelete =
  /^(?:Failed to delete (?:stale service|[\w./:-]{0,300} ?(?:nodeport-related )?endpoint (?:[\w./:-]{1,300} )?connections)|Failed to clear (?:udp|all) conntrack|Failed to list conntrack entries|conntrack returned error)/;

export const staleConnections: CauseRow = {
  code: 'KN120',
  name: 'stale-connections-stay',
  title: 'kube-proxy cannot delete stale connections',
  reason: 'StaleConnectionsStay',
  overReason: 'StaleConnectionsDeleted',
  neverFatal: true,
  programs: ['kube-proxy'],
  needles: [
    'Failed to delete ',
    'Failed to clear udp conntrack',
    'Failed to clear all conntrack',
    'Failed to list conntrack entries',
    'conntrack returned error',
  ],
  match(record) {
    // The kernel's list changed while it was read: the next sync reads it again.
    if (!cannotDelete.test(record.message) || /^interrupted\b/.test(record.error)) return undefined;
    // Before structured logging: `Failed to delete shop/dns:dns endpoint connections, error: …`.
    const named = /^Failed to delete ([\w.-]{1,63}\/[\w.:-]{1,130}) endpoint/.exec(record.message)?.[1];
    return { subject: record.fields['servicePortName'] ?? named, quote: reasonOf(textOfRecord(record)) };
  },
  what: (details, node) =>
    `kube-proxy on ${node} cannot delete tracked connections${bracketed(details)}: UDP packets, DNS among them, may go on to Pods that are gone.`,
  why({ quote }) {
    if (/executable file not found/.test(quote))
      return 'kube-proxy before 1.32 runs the program conntrack for it, which is missing in its image or on the node.';
    if (/not permitted|Permission denied|permission denied/.test(quote))
      return 'kube-proxy is not allowed to: its container is not privileged.';
    return 'The kernel does not let it: mostly its module nf_conntrack_netlink is not loaded.';
  },
  fix({ quote }) {
    if (/executable file not found/.test(quote))
      return "Use kube-proxy's own image, or install the package conntrack (conntrack-tools) where kube-proxy runs; from 1.32 on kube-proxy does without.";
    return /not permitted|ermission denied/.test(quote)
      ? 'Give its container securityContext.privileged: true and hostNetwork: true.'
      : "On the node: modprobe nf_conntrack_netlink; to keep it: printf '%s\\n' nf_conntrack_netlink >> /etc/modules-load.d/kube.conf. Check with: conntrack -L -p udp | head.";
  },
};

/** The reason is at the end of the line, after the connection to delete. */
function reasonOf(text: string): string | undefined {
  return /(?:error looking for path of conntrack|conntrack command returned)[^\n]{1,400}/.exec(text)?.[0];
}
