import type { NodeFacts } from '../../../base/model/incident.ts';
import { apiUnreachable, kubeProxyApiUnreachable } from './api-unreachable.ts';
import { felixDeletesChains, firewallReload, mixedBackends } from './behind.ts';
import { bgpDown, unknownPeer } from './bgp.ts';
import type { Cause, CauseRow, HintDetails, Symptoms } from './cause.ts';
import { calicoCannotStart } from './calico-starting.ts';
import { dummyProfile, felixGivesUp, felixRestoreFailed, rulesOverwritten } from './felix.ts';
import { ebpfFailed, xdpFailed } from './felix-ebpf.ts';
import { foreignNftRules, foreignNftRulesOfServices } from './foreign-nft-rules.ts';
import { ipvsAddressStays, ipvsFailed, ipvsNoDestination } from './ipvs.ts';
import { conntrackFull, conntrackNearlyFull, martianPackets, neighbourFull } from './kernel.ts';
import {
  badRule,
  jumpMissing,
  restoreRefused,
  serviceChainMissing,
  sharedChainMissing,
  xtablesLock,
} from './kube-proxy-iptables.ts';
import { chainBusy, nftCrashes, nftInterfaceMissing, nftSyncFailed, nftWithoutJson } from './kube-proxy-modes.ts';
import { moduleMissing } from './module-missing.ts';
import { staleConnections } from './stale-connections.ts';
import { cannotStart, nodePortTaken, portTaken, restarting } from './starting.ts';
import { short } from './texts.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { TableReport } from '../../../base/model/observation.ts';
import type { Failing, FailureSign, ProgramRecord, Sign } from '../../../base/model/program-record.ts';
import { backendOf, familyOf, defaultQuote, quotable, startsWithAny, textOfRecord } from './record-text.ts';

const rows: readonly CauseRow[] = [
  felixGivesUp,
  // These rows say why a call failed.
  xtablesLock,
  moduleMissing,
  serviceChainMissing,
  sharedChainMissing,
  badRule,
  chainBusy,
  foreignNftRules,
  foreignNftRulesOfServices,
  nftWithoutJson,
  nftCrashes,
  nftInterfaceMissing,
  // These rows match other failures, mostly without a reason.
  jumpMissing,
  restoreRefused,
  nftSyncFailed,
  felixRestoreFailed,
  rulesOverwritten,
  dummyProfile,
  ipvsFailed,
  ipvsAddressStays,
  staleConnections,
  ebpfFailed,
  xdpFailed,
  cannotStart,
  calicoCannotStart,
  apiUnreachable,
  kubeProxyApiUnreachable,
  bgpDown,
  unknownPeer,
  portTaken,
  nodePortTaken,
  restarting,
  // These rows explain other causes; the first one whose facts fit is the diagnosis.
  felixDeletesChains,
  firewallReload,
  mixedBackends,
  // Logged by the kernel.
  conntrackFull,
  neighbourFull,
  martianPackets,
  ipvsNoDestination,
  // Found by the agent in /proc.
  conntrackNearlyFull,
];

/** All causes. The first row that matches a record gives its cause. */
export const causes: readonly Cause[] = rows.map(complete);

const byCode = new Map(causes.map((cause) => [cause.code, cause]));

/** Throws for an unknown code, which is a bug of this program. */
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

/** Shortens the name of a node, which may have 253 characters. */
function shortNode(node: string): string {
  return short(node, 63) || 'this node';
}

export function diagnose(code: string, facts: NodeFacts, symptoms: Symptoms): string {
  const behind = causes.find(({ explains }) => explains?.codes.includes(code) && explains.when(facts, symptoms));
  return behind?.code ?? code;
}

const hintLimit = 2;

/** Returns at most two sentences of at most 160 bytes each, the most important first. */
export function hints(details: HintDetails): string[] {
  return [hiddenWarnings(details), ...causes.map(({ explains }) => explains?.hint?.(details))]
    .filter((hint) => hint !== undefined)
    .slice(0, hintLimit);
}

/** With these log levels, felix hides its warnings about rules. */
const severitiesAboveWarning = new Set(['error', 'fatal', 'panic', 'none']);

function hiddenWarnings({ code, facts: { felix } }: HintDetails): string | undefined {
  if (felix?.kind !== 'settings' || !/^KN[12]/.test(code)) return undefined;
  const { logSeverityScreen = '' } = felix.settings;
  if (!severitiesAboveWarning.has(logSeverityScreen.toLowerCase())) return undefined;
  return `logSeverityScreen ${logSeverityScreen} hides felix's warnings about its rules.`;
}

/** The longest subject: the name of an nftables chain (128 characters) and its namespace. */
const subjectLimit = 160;

const byProgram = new Map<Failing, Cause[]>();
for (const cause of causes)
  for (const program of cause.programs) byProgram.set(program, [...(byProgram.get(program) ?? []), cause]);

/** The literals (see `Cause.needles`) of records that `syncOf` recognizes. */
const syncNeedles = ['Sync failed', 'yncProxyRules ', 'Succeeded after retry', 'Completed first update to dataplane'];

/** Undefined for most records. Never throws, and takes linear time. */
export function signOf(record: ProgramRecord | TableReport): Sign | undefined {
  if (record.kind !== 'program-record') return tableFailureOf(record);
  return syncOf(record) ?? failureOf(record);
}

function tableFailureOf(report: TableReport): FailureSign | undefined {
  for (const { code, matchTable } of causes) {
    const match = matchTable?.(report);
    if (match !== undefined) return { kind: 'failure', code, failing: 'kernel', backend: undefined, ...match };
  }
  return undefined;
}

function failureOf(record: ProgramRecord): FailureSign | undefined {
  const isInfo = record.severity === 'info' || record.severity === 'debug';
  for (const cause of byProgram.get(record.program) ?? []) {
    // BIRD logs no severity.
    if (isInfo && record.program !== 'bird' && !startsWithAny(record.message, cause.infoOpenings ?? [])) continue;
    const match = cause.match(record);
    if (match === undefined) continue;
    const text = textOfRecord(record);
    const subject = match.subject === undefined ? '' : short(match.subject, subjectLimit);
    return {
      kind: 'failure',
      code: cause.code,
      failing: record.program,
      family: familyOf(record, text),
      subject: subject === '' ? undefined : subject,
      quote: match.quote === undefined ? defaultQuote(record) : quotable(match.quote),
      backend: backendOf(text),
    };
  }
  return undefined;
}

/** Match records of a completed sync. felix logs only its first sync and syncs after a retry; kube-proxy also logs failed syncs as complete. */
const completions: Partial<Record<Failing, RegExp>> = {
  'kube-proxy': /^[Ss]yncProxyRules (?:complete|took)\b/,
  felix: /^(?:Succeeded after retry|Completed first update to dataplane)/,
};

function syncOf(record: ProgramRecord): Sign | undefined {
  const { message, program: failing, fields } = record;
  if (failing === 'kube-proxy' && message.startsWith('Sync failed')) {
    const retry = fields['retryingTime'] ?? /^Sync failed; retrying in ([\w.]{1,30})/.exec(message)?.[1];
    return { kind: 'sync-failed', failing, family: familyOf(record, ''), retry: duration(retry) };
  }
  if (completions[failing]?.test(message) !== true) return undefined;
  return { kind: 'sync-complete', failing, family: familyOf(record, ''), retry: undefined };
}

const units: Readonly<Record<string, Millis>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Reads `30s`, `1m30.5s`, as Go prints a time.Duration of at least 1 ms; undefined for anything else. */
function duration(text = ''): Millis | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s)){1,4}$/.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s)/g))
    sum += Number(number) * (units[unit ?? ''] ?? 0);
  return sum;
}

/** Every record with a sign contains one of these, except fatal records of klog. They are ASCII, and at least eight characters long. */
export const programNeedles: readonly string[] = shortest([
  ...causes.flatMap(({ needles }) => needles),
  ...syncNeedles,
  // felix could not log everything: `... dropped 104 logs ...`.
  '... dropped ',
]);

function shortest(needles: readonly string[]): string[] {
  const distinct = [...new Set(needles)];
  return distinct.filter((needle) => !distinct.some((other) => other !== needle && needle.includes(other)));
}
