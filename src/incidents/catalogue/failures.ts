import type { ProgramRecord } from '../../model/program-record.ts';
import { isProblem, textOf, startsWithAny } from './record-text.ts';

/*
 * How a message begins shows which call of a tool failed; only then is the error searched for the reason. Rules,
 * comments and names of Services in other messages are never looked at.
 */

/** kube-proxy, iptables and ipvs modes [1.4 to 1.36: pkg/proxy/iptables, pkg/proxy/ipvs, pkg/util/iptables]. */
const kubeProxyIptables = [
  'Failed to execute iptables-restore',
  'Failed to execute iptables-save',
  'Failed to ensure chain ',
  'Failed to ensure that ',
  'Could not set up iptables canary',
  'Could not check for iptables canary',
];

/** kube-proxy, nftables mode [1.29 to 1.36: pkg/proxy/nftables]. */
const kubeProxyNftables = [
  'nftables sync failed',
  'Failed to list nftables ',
  'Failed to list existing ',
  'Unable to delete stale chains',
];

/** felix [felix/iptables/table.go]; the name of the command before ` command failed` varies. */
const felixIptables = [
  'Failed to execute ip(6)tables-restore command',
  'Failed to program iptables, will retry',
  'iptables save failed',
  'iptables-save failed because ',
];

/** felix [felix/nftables/table.go]. */
const felixNftables = [
  'Failed to program nftables, will retry',
  'Failed to run nft transaction',
  'nftables command failed',
];

/** As in `Cause.needles`: of failed calls of iptables, and of nft, also of lines out of the middle of such a record. */
export const iptablesNeedles = [...kubeProxyIptables, ...felixIptables, '-save command failed', 'tables-restore'];
export const nftablesNeedles = [...kubeProxyNftables, ...felixNftables, '/dev/stdin:'];

const saveCommandFailed = /^ip6?tables(?:-legacy|-nft)?-save command failed/;

/** The text of a failed call of iptables that programs rules; undefined for anything else. */
export function iptablesFailure(record: ProgramRecord): string | undefined {
  if (!isProblem(record)) return undefined;
  const { message, program } = record;
  if (isFragment(record)) return isOfNft(record) ? undefined : textOf(record);
  if (program === 'kube-proxy') {
    return startsWithAny(message, kubeProxyIptables) && !isCleanup(record) ? textOf(record) : undefined;
  }
  if (program !== 'felix') return undefined;
  return startsWithAny(message, felixIptables) || saveCommandFailed.test(message) ? textOf(record) : undefined;
}

/** The text of a failed call of nft that programs rules; undefined for anything else. */
export function nftablesFailure(record: ProgramRecord): string | undefined {
  if (!isProblem(record)) return undefined;
  if (isFragment(record)) return isOfNft(record) ? textOf(record) : undefined;
  const openings =
    record.program === 'kube-proxy' ? kubeProxyNftables : record.program === 'felix' ? felixNftables : [];
  return startsWithAny(record.message, openings) ? textOf(record) : undefined;
}

/** A line of kube-proxy's error by itself, as a syslog cuts it: nothing but the error is left. */
function isFragment({ message, error, program }: ProgramRecord): boolean {
  return message === '' && error !== '' && program === 'kube-proxy';
}

function isOfNft({ error }: ProgramRecord): boolean {
  return error.startsWith('/dev/stdin:');
}

export function programmingFailure(record: ProgramRecord): string | undefined {
  return iptablesFailure(record) ?? nftablesFailure(record);
}

/** What kube-proxy left behind in another mode is taken away once when it starts; nothing depends on that. */
export function isCleanup(record: ProgramRecord): boolean {
  return record.caller.endsWith('cleanup.go');
}
