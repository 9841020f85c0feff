import type { NodeFacts } from '../../model/incident.ts';
import { felixDeletesChains, firewallReload, mixedBackends } from './behind.ts';
import { bgpDown, unknownPeer } from './bgp.ts';
import type { Cause, CauseRow, HintDetails, Symptoms } from './cause.ts';
import {
  apiUnreachable,
  dummyProfile,
  felixGivesUp,
  felixRestoreFailed,
  foreignNftRules,
  rulesOverwritten,
} from './felix.ts';
import { conntrackFull, conntrackNearlyFull, martianPackets, neighbourFull } from './kernel.ts';
import {
  badRule,
  jumpMissing,
  restoreRefused,
  serviceChainMissing,
  sharedChainMissing,
  xtablesLock,
} from './kube-proxy-iptables.ts';
import {
  chainBusy,
  ipvsFailed,
  nftCrashes,
  nftInterfaceMissing,
  nftSyncFailed,
  nftWithoutJson,
} from './kube-proxy-modes.ts';
import { moduleMissing } from './module-missing.ts';
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
  // These rows take a failure that gives no reason.
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
    retryInterval: 30_000,
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

/** The cause that explains best what the lines say (`code`): itself where no fact points to another. */
export function diagnose(code: string, facts: NodeFacts, symptoms: Symptoms): string {
  const behind = causes.find(({ explains }) => explains?.codes.includes(code) && explains.when(facts, symptoms));
  return behind?.code ?? code;
}

const hintLimit = 2;

/** Adds what else to know: at most two sentences of at most 160 bytes, most important first. */
export function hints(details: HintDetails): string[] {
  return [hiddenWarnings(details), ...causes.map(({ explains }) => explains?.hint?.(details))]
    .filter((hint) => hint !== undefined)
    .slice(0, hintLimit);
}

/** Severities above the warnings in which felix logs that it could not write its rules, or that another program changed them. */
const severitiesAboveWarning = new Set(['error', 'fatal', 'panic', 'none']);

function hiddenWarnings({ code, facts: { felix } }: HintDetails): string | undefined {
  if (felix?.kind !== 'settings' || !/^KN[12]/.test(code)) return undefined;
  const { logSeverityScreen = '' } = felix.settings;
  if (!severitiesAboveWarning.has(logSeverityScreen.toLowerCase())) return undefined;
  return `logSeverityScreen ${logSeverityScreen} hides what felix warns of its rules.`;
}
