/** `doctor`: checks the prerequisites of the agent, and says what to do if one is missing. */
import type { DoctorOptions } from '../options/run-options.ts';
import { type Config, environment, version } from '../../config/config.ts';
import { findAccess, createConnection } from '../../kubernetes/kubernetes.ts';
import { createSteadyClock } from '../../platform/clock.ts';
import type { Millis } from '../../model/log-line.ts';
import { printable } from '../../platform/printable.ts';
import { createPrefixTable } from '../../parsing/parsing.ts';
import { jsonText, paintTerminal } from '../terminal.ts';
import { type Api, noApi } from './api.ts';
import { runChecks } from './checks.ts';
import { inOneLine } from './checks/cluster.ts';
import { enableLogging } from './enable-logging/enable-logging.ts';
import { gatherFacts } from './facts.ts';
import { findOwnPod, thisMachine } from './machine.ts';
import { jsonReport, type Report, type Status, statusOf, textReport } from './report.ts';
import { sendTestEvent, type TestEventResult } from './test-event.ts';

/** Shorter than the limit of a check, so that the check can name the server that did not answer. */
const requestTimeout: Millis = 4500;

const colours = { ok: 'green', warning: 'yellow', problem: 'red', unknown: 'cyan' } as const satisfies Record<
  Status,
  string
>;

/** Resolves to the exit status. */
export async function doctor(options: DoctorOptions, out: (text: string) => void): Promise<0 | 1> {
  const { config, problems, warnings, output } = options;
  const { node } = config;
  const ownPod = findOwnPod(environment());
  const api = await reach(config);
  if (options.sendTestEvent) {
    const sent = await sendTestEvent({ api, node, pod: options.pod, ownPod, now: Date.now });
    const result = withProblems(sent, problems);
    out(output === 'json' ? jsonText({ testEvent: result }, 2) : textOf(result));
    return result.kind === 'written' ? 0 : 1;
  }
  if (options.enableLogging) return await enableLogging(api, node, output, out);
  const prefixes = createPrefixTable(config.prefixes);
  const facts = gatherFacts({ config, prefixes, api, ownPod, machine: thisMachine });
  const given = { config, problems, warnings, isPod: ownPod !== undefined, prefixes };
  const checks = await runChecks(facts, () => ({ ...given, now: Date.now() }));
  const report: Report = { version, node, time: Date.now(), checks };
  out(output === 'json' ? jsonReport(report) : textReport(report, paint));
  return statusOf(checks) === 'problem' ? 1 : 0;
}

function paint(status: Status, text: string): string {
  return paintTerminal(colours[status], text);
}

async function reach({ kubeconfig, node }: Config): Promise<Api> {
  try {
    return createConnection({
      access: await findAccess(kubeconfig),
      userAgent: `kube-netfilter-tailer/${version} doctor (${node})`,
      clock: createSteadyClock(),
      timeout: requestTimeout,
    });
  } catch (error) {
    return noApi((error as Error).message);
  }
}

/** Adds the problems of the settings to a failure, because they may be its cause. */
function withProblems(result: TestEventResult, problems: readonly string[]): TestEventResult {
  if (result.kind === 'written' || problems.length === 0) return result;
  return { ...result, advice: `${result.advice}. Settings are wrong: ${inOneLine(problems)}` };
}

function textOf(result: TestEventResult): string {
  if (result.kind === 'failed')
    return `No test Event was sent: ${printable(result.reason)}\n→ ${printable(result.advice)}\n`;
  return `A test Event was written on ${result.on}. To see it:\n\n  ${result.look}\n\nIt should come in Slack, or wherever Events are sent, within a few seconds.\n`;
}
