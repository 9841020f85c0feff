import { bgpDown, unknownPeer } from './bgp.ts';
import { apiUnreachable } from './calico-api.ts';
import type { Cause } from './cause.ts';
import { felixDeletesChains, firewallReload, mixedBackends } from './diagnosed.ts';
import { dummyProfile, felixGivesUp, felixRestoreFailed, foreignNftRules, rulesOverwritten } from './felix.ts';
import { ipvsFailed } from './ipvs.ts';
import { conntrackFull, martianPackets, neighbourFull } from './kernel.ts';
import { badRule, chainBusy, serviceChainMissing, sharedChainMissing, xtablesLock } from './kube-proxy-iptables.ts';
import { moduleMissing } from './module-missing.ts';
import { nftCrashes, nftInterfaceMissing, nftSyncFailed, nftWithoutJson } from './kube-proxy-nftables.ts';
import { jumpMissing, restoreRefused } from './kube-proxy-restore.ts';
import { cannotStart, restarting } from './starting.ts';
import { short } from './texts.ts';

const rows: readonly Cause[] = [
  felixGivesUp,
  // What lies behind a call that failed.
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
  // That it failed, where nothing says why.
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
  restarting,
  // Not told by the lines of programs.
  felixDeletesChains,
  mixedBackends,
  firewallReload,
  conntrackFull,
  neighbourFull,
  martianPackets,
];

/** All causes, the most telling first: the first row that matches a record is its cause. */
export const causes: readonly Cause[] = rows.map(withShortNode);

const byCode = new Map(causes.map((cause) => [cause.code, cause]));

/** The row of a code. Throws for one that is not in the catalogue, which is a fault of this program. */
export function causeOf(code: string): Cause {
  const cause = byCode.get(code);
  if (cause === undefined) throw new Error(`no cause has the code ${code}`);
  return cause;
}

/** Names of nodes have up to 253 characters; the first of them are enough to know it by. */
function withShortNode(cause: Cause): Cause {
  return {
    ...cause,
    what: (details, node) => cause.what(details, shortNode(node)),
    why: (details, node) => cause.why(details, shortNode(node)),
    fix: (details, node) => cause.fix(details, shortNode(node)),
  };
}

function shortNode(node: string): string {
  return short(node, 63) || 'this node';
}
