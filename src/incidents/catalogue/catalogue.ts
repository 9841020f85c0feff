import { bgpDown, unknownPeer } from './bgp.ts';
import { apiUnreachable } from './calico-api.ts';
import type { Cause, CauseRow } from './cause.ts';
import { felixDeletesChains } from './felix-deletes-chains.ts';
import { firewallReload } from './firewall-reload.ts';
import { dummyProfile, felixGivesUp, felixRestoreFailed, foreignNftRules, rulesOverwritten } from './felix.ts';
import { ipvsFailed } from './ipvs.ts';
import { mixedBackends } from './mixed-backends.ts';
import { conntrackFull, conntrackNearlyFull, martianPackets, neighbourFull } from './kernel.ts';
import { badRule, chainBusy, serviceChainMissing, sharedChainMissing, xtablesLock } from './kube-proxy-iptables.ts';
import { moduleMissing } from './module-missing.ts';
import { nftCrashes, nftInterfaceMissing, nftSyncFailed, nftWithoutJson } from './kube-proxy-nftables.ts';
import { jumpMissing, restoreRefused } from './kube-proxy-restore.ts';
import { portTaken } from './port-taken.ts';
import { cannotStart, restarting } from './starting.ts';
import { short } from './texts.ts';

const rows: readonly CauseRow[] = [
  felixGivesUp,
  // Why a call failed.
  xtablesLock,
  moduleMissing,
  serviceChainMissing,
  sharedChainMissing,
  badRule,
  chainBusy,
  foreignNftRules,
  nftWithoutJson,
  nftCrashes,
  nftInterfaceMissing,
  // That it failed, without a reason.
  jumpMissing,
  restoreRefused,
  nftSyncFailed,
  felixRestoreFailed,
  rulesOverwritten,
  dummyProfile,
  ipvsFailed,
  cannotStart,
  apiUnreachable,
  bgpDown,
  unknownPeer,
  portTaken,
  restarting,
  // Behind what programs log; the first whose facts fit explains it.
  felixDeletesChains,
  firewallReload,
  mixedBackends,
  // Logged by the kernel.
  conntrackFull,
  neighbourFull,
  martianPackets,
  // Seen in /proc.
  conntrackNearlyFull,
];

/** All causes, the most specific first: the first row that matches a record is its cause. */
export const causes: readonly Cause[] = rows.map(complete);

const byCode = new Map(causes.map((cause) => [cause.code, cause]));

/** The row of a code. Throws for one that is not in the catalogue, which is a fault of this program. */
export function causeOf(code: string): Cause {
  const cause = byCode.get(code);
  if (cause === undefined) throw new Error(`no cause has the code ${code}`);
  return cause;
}

export function isCause(code: string): boolean {
  return byCode.has(code);
}

function complete(row: CauseRow): Cause {
  return {
    programs: [],
    needles: [],
    match: () => undefined,
    severity: row.impact === undefined ? 'warning' : 'serious',
    ...row,
    what: (details, node) => row.what(details, shortNode(node)),
    why: (details, node) => row.why(details, shortNode(node)),
    fix: (details, node) => row.fix(details, shortNode(node)),
  };
}

/** Names of nodes have up to 253 characters; the first of them are enough to know it by. */
function shortNode(node: string): string {
  return short(node, 63) || 'this node';
}
