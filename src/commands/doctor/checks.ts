/** The table of all checks. A row has the name of a check, the facts that it needs, and the function that judges them. */
import type { Millis } from '../../model/log-line.ts';
import { checkAgent } from './checks/agent.ts';
import { checkCalico } from './checks/calico.ts';
import {
  checkApiServer,
  checkNode,
  checkPodLookups,
  checkPolicies,
  checkRights,
  checkSettings,
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
import type { Facts, Gathered, Given, Known } from './facts.ts';
import { answersOf, type Check } from './report.ts';

/** The checks, in the order in which their findings are shown. */
export const checks = [
  row('settings', [], checkSettings),
  row('api-server', ['version'], checkApiServer),
  row('node', ['ownNode', 'nodes'], checkNode),
  row('rights', ['reviews'], checkRights),
  row('pod-lookups', ['ways'], checkPodLookups),
  row('policies', ['policyRights'], checkPolicies),
  row('state', ['folder', 'state'], checkState),
  row('sources', ['kernelSources'], checkKernelSources),
  row('source containers', ['containers', 'pods'], checkContainers),
  row('sources of programs', ['programLogs'], checkProgramLogs),
  row('traces and sockets', ['feeds'], checkFeeds),
  row('source of flows', ['unreadFlows'], checkFlows),
  row('proc-root', ['hasProcRoot'], checkProcRoot),
  row('log-rules', ['rules', 'view', 'kernelSources'], checkLogRules),
  row('prefixes', ['rules', 'view', 'kernelSources'], checkPrefixes),
  row('iptables-backends', ['rules', 'view'], checkIptablesBackends),
  row('nf-log-all-netns', ['logsAllNamespaces', 'view', 'ownNode'], checkLogNamespaces),
  row('calico', ['felix', 'pods', 'feeds'], checkCalico),
  row('agent', ['agent'], checkAgent),
];

export interface Row {
  /** The name in the report if the check fails or takes too long. */
  name: string;
  needs: readonly (keyof Facts)[];
  check: (known: Known<keyof Facts>) => Check | readonly Check[];
}

/** Makes a row. The types allow a check to use only the facts that its row names. */
function row<Fact extends keyof Facts>(
  name: string,
  needs: readonly Fact[],
  check: (known: Known<NoInfer<Fact>>) => Check | readonly Check[],
): Row {
  return { name, needs, check };
}

/** The longest wait for the facts of one check. */
const timeout: Millis = 5000;

/** Never rejects: a check that fails or takes too long is `unknown`, and does not affect the others. */
export async function runChecks(facts: Gathered, given: () => Given, rows: readonly Row[] = checks): Promise<Check[]> {
  const findings = await Promise.all(rows.map((each) => runCheck(each, facts, given)));
  return findings.flat();
}

async function runCheck(
  { name, needs, check }: Row,
  facts: Gathered,
  given: () => Given,
): Promise<Check | readonly Check[]> {
  const { unknown } = answersOf(name);
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), timeout);
  try {
    const values = await Promise.race([Promise.all(needs.map((fact) => facts[fact])), late]);
    if (values === undefined)
      return unknown(`no result within ${timeout / 1000} s`, 'run doctor again; if it stays, the system is overloaded');
    const known = Object.fromEntries(needs.map((fact, index) => [fact, values[index]])) as unknown as Facts;
    return check({ ...given(), ...known });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return unknown(`the check itself failed: ${reason}`, 'please report this as a defect of doctor');
  } finally {
    clearTimeout(timer);
  }
}
