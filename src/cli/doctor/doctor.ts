/** `doctor`: checks the prerequisites of the agent, and gives advice if one is missing. */
import type { DoctorOptions } from '../options/run-options.ts';
import { environment, version } from '../../agent/config/config.ts';
import { documentAt } from '../../agent/config/docs-url.ts';
import { createConnection } from '../../agent/kubernetes/kubernetes.ts';
import { accessWith } from '../user-access.ts';
import { createSteadyClock } from '../../base/platform/clock.ts';
import { printable } from '../../base/platform/printable.ts';
import { createPrefixTable } from '../../read/parsing/parsing.ts';
import { jsonText, paintTerminal } from '../terminal.ts';
import { type Api, noApi } from './api.ts';
import { detectPlugIns } from './enable-logging/detect.ts';
import { recipesFor } from './enable-logging/recipes.ts';
import { findOwnPod, thisMachine } from './machine.ts';
import { sendTestEvent, type TestEventResult } from './test-event.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { checkAgent, checkMemory } from './checks/agent.ts';
import { checkRuleNames } from './checks/antrea.ts';
import { checkCalico } from './checks/calico.ts';
import { checkCiliumEvents } from './checks/cilium.ts';
import {
  checkApiServer,
  checkGuard,
  checkNode,
  checkPodLookups,
  checkPolicies,
  checkRights,
  checkSettings,
  inOneLine,
} from './checks/cluster.ts';
import {
  checkPrefixes,
  checkIptablesBackends,
  checkLogNamespaces,
  checkLogRules,
  checkProcRoot,
} from './checks/rules.ts';
import {
  checkFeeds,
  checkContainers,
  checkFlows,
  checkKernelSources,
  checkProgramLogs,
  checkState,
} from './checks/sources.ts';
import { gatherFacts, type FactLookups, type CheckContext, type CheckInput } from './facts.ts';
import {
  answersOf,
  type Check,
  type DoctorReport,
  jsonReport,
  recipesText,
  type Status,
  statusOf,
  textReport,
} from './report.ts';

/** Shorter than the limit of a check, so that the check can name the server that did not answer. */
const requestTimeout: Millis = 4500;

const colours = { ok: 'green', warning: 'yellow', problem: 'red', unknown: 'cyan' } as const satisfies Record<
  Status,
  string
>;

/** Resolves to the exit status: 1 if there is a problem, no test Event was written, or no plug-in can log. */
export async function doctor(options: DoctorOptions, out: (text: string) => void): Promise<0 | 1> {
  const { config, problems, warnings, output } = options;
  const { node } = config;
  const ownPod = findOwnPod(environment());
  const api = await reach(options);
  if (options.sendTestEvent) {
    const sent = await sendTestEvent({ api, node, pod: options.pod, ownPod, now: Date.now });
    const result = withProblems(sent, problems);
    out(output === 'json' ? jsonText({ testEvent: result }, 2) : textOfResult(result));
    return result.kind === 'written' ? 0 : 1;
  }
  if (options.enableLogging) return await enableLogging(api, node, output, out);
  const prefixes = createPrefixTable(config.prefixes);
  const facts = gatherFacts({ config, prefixes, api, ownPod, machine: thisMachine });
  const given = { config, problems, warnings, isPod: ownPod !== undefined, prefixes };
  const checks = await runChecks(facts, () => ({ ...given, now: Date.now() }));
  const report: DoctorReport = { version, node, time: Date.now(), checks };
  out(output === 'json' ? jsonReport(report) : textReport(report, paint));
  return statusOf(checks) === 'problem' ? 1 : 0;
}

/** Changes nothing. Resolves to the exit status: 0 if a plug-in can log. */
export async function enableLogging(
  api: Api,
  node: string,
  output: 'text' | 'json',
  out: (text: string) => void,
): Promise<0 | 1> {
  const seen = await detectPlugIns(api, node);
  const recipes = recipesFor(seen);
  const obstacles = api.unusable === undefined ? seen.obstacles : [api.unusable];
  if (output === 'json') {
    const plugIns = recipes.map((recipe) => ({ ...recipe, page: documentAt(recipe.page) }));
    out(jsonText({ enableLogging: { plugIns, obstacles } }, 2));
  } else out(recipesText(recipes, seen, obstacles));
  return recipes.some(({ works }) => works !== 'no') ? 0 : 1;
}

function paint(status: Status, text: string): string {
  return paintTerminal(colours[status], text);
}

async function reach({ config: { node }, access }: DoctorOptions): Promise<Api> {
  try {
    return createConnection({
      access: await accessWith(access),
      userAgent: `kube-netfilter-tailer/${version} doctor (${node})`,
      clock: createSteadyClock(),
      timeout: access.timeout ?? requestTimeout,
    });
  } catch (error) {
    return noApi((error as Error).message);
  }
}

/** Wrong settings may be the cause of a failure. */
function withProblems(result: TestEventResult, problems: readonly string[]): TestEventResult {
  if (result.kind === 'written' || problems.length === 0) return result;
  return { ...result, advice: `${result.advice}. Settings are wrong: ${inOneLine(problems)}` };
}

function textOfResult(result: TestEventResult): string {
  if (result.kind === 'failed')
    return `No test Event was sent: ${printable(result.reason)}\n→ ${printable(result.advice)}\n`;
  return `A test Event was written on ${result.on}. To see it:\n\n  ${result.look}\n\nIt should come in Slack, or wherever Events are sent, within a few seconds.\n`;
}

/** The findings are shown in this order. */
export const checks: readonly CheckRow[] = [
  { name: 'settings', check: checkSettings },
  { name: 'api-server', check: checkApiServer },
  { name: 'node', check: checkNode },
  { name: 'rights', check: checkRights },
  { name: 'admission-policy', check: checkGuard },
  { name: 'pod-lookups', check: checkPodLookups },
  { name: 'policies', check: checkPolicies },
  { name: 'state', check: checkState },
  { name: 'sources', check: checkKernelSources },
  { name: 'source containers', check: checkContainers },
  { name: 'sources of programs', check: checkProgramLogs },
  { name: 'traces and sockets', check: checkFeeds },
  { name: 'source of flows', check: checkFlows },
  { name: 'proc-root', check: checkProcRoot },
  { name: 'log-rules', check: checkLogRules },
  { name: 'prefixes', check: checkPrefixes },
  { name: 'iptables-backends', check: checkIptablesBackends },
  { name: 'nf-log-all-netns', check: checkLogNamespaces },
  { name: 'calico', check: checkCalico },
  { name: 'cilium-events', check: checkCiliumEvents },
  { name: 'antrea-rule-names', check: checkRuleNames },
  { name: 'agent', check: checkAgent },
  { name: 'memory', check: checkMemory },
];

export interface CheckRow {
  /** The name in the report if the check fails, or a fact takes too long. */
  name: string;
  check: (known: CheckInput) => Check | readonly Check[];
}

const timeout: Millis = 5000;
const late = new Error(`no result within ${timeout / 1000} s`);

/** Never rejects: a check that fails, or lacks a fact, is `unknown`, and does not affect the others. */
export async function runChecks(
  facts: FactLookups,
  given: () => CheckContext,
  rows: readonly CheckRow[] = checks,
): Promise<Check[]> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late), timeout);
  const looks = Object.entries<Promise<unknown>>(facts);
  const settled = await Promise.allSettled(looks.map(([, look]) => Promise.race([look, promise])));
  clearTimeout(timer);
  const known = { ...given() } as CheckInput;
  for (const [index, result] of settled.entries())
    Object.defineProperty(known, looks[index]?.[0] ?? '', {
      get() {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      },
    });
  return rows.flatMap((row) => runCheck(row, known));
}

function runCheck({ name, check }: CheckRow, known: CheckInput): Check | readonly Check[] {
  try {
    return check(known);
  } catch (error) {
    const { unknown } = answersOf(name);
    if (error === late) return unknown(late.message, 'run doctor again; if it stays, the system is overloaded');
    const reason = error instanceof Error ? error.message : String(error);
    return unknown(`the check itself failed: ${reason}`, 'please report this as a defect of doctor');
  }
}
