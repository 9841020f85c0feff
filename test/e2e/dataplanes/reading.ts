import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from '../../../src/cli/doctor/report.ts';
import { policiesFile, rightsFile } from '../../../src/agent/kubernetes/rights.ts';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import type { AgentProcess } from '../agent-process.ts';
import { type AgentRig, kubeconfigWith, type StoredEvent } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';
import { bundle } from '../bundle.ts';
import { rulesIn } from '../granted.ts';
import type { Outcome } from '../outcome.ts';
import { until } from '../until.ts';

export type Reading = Awaited<ReturnType<typeof startReading>>;

/** An agent that reads what a data plane logs, and what becomes of each line. `log`: a file, or other SOURCES. */
export async function startReading(
  connection: Connection,
  rig: AgentRig,
  node: string,
  log: string | { readonly SOURCES: string },
) {
  const audit = join(rig.newFolder(), 'audit.ndjson');
  const settings = {
    NODE_NAME: node,
    SOURCES: typeof log === 'string' ? `file:${log}` : log.SOURCES,
    STATE_DIR: rig.newFolder(),
    // The agent also reads policies.
    KUBECONFIG: await kubeconfigWith(connection, `reading-${node}`, rulesIn(rightsFile, policiesFile)),
  };
  const agent: AgentProcess = rig.start({ ...settings, AUDIT: `file:${audit}`, AUDIT_INTERVAL: '1' });
  await agent.untilReady();
  const rowsOf = (fields: Partial<FlowRecord>): readonly FlowRecord[] => {
    const names = Object.keys(fields) as (keyof FlowRecord)[];
    const lines = readText(audit).split('\n').slice(0, -1);
    const rows = lines.map((line) => JSON.parse(line) as FlowRecord);
    return rows.filter((row) => names.every((name) => row[name] === fields[name]));
  };
  return {
    /** Runs doctor by `run`, with the agent's settings except those in `changed`; returns what it finds. */
    async doctor(
      run: (command: string, args: readonly string[]) => Promise<Outcome>,
      changed: Readonly<Record<string, string>> = {},
    ): Promise<readonly Check[]> {
      const { metricsAddress } = await agent.untilLog((entry) => typeof entry.metricsAddress === 'string');
      const env = Object.entries({ ...settings, METRICS_ADDRESS: String(metricsAddress), ...changed });
      const words = [...env.map(([name, value]) => `${name}=${value}`), process.execPath, bundle];
      const { stdout } = await run('env', [...words, 'doctor', '--output=json']);
      return (JSON.parse(stdout) as { checks: readonly Check[] }).checks;
    },
    /** Resolves when an Event on that Pod has all these texts in its message. */
    async untilMessage(namespace: string, pod: string, ...texts: readonly string[]): Promise<void> {
      const isIt = ({ message }: StoredEvent): boolean => texts.every((text) => message.includes(text));
      await rig.untilEvents(namespace, (events) => events.some(isIt), pod);
    },
    /**
     * Resolves when an Event on that Pod names a NetworkPolicy: before the agent has read the policies, no Event does.
     * `send` sends the Pod a packet to a port that a NetworkPolicy denies, at most thirty times. Returns how many were sent.
     */
    async untilPoliciesAreRead(namespace: string, pod: string, send: (port: number) => Promise<void>): Promise<number> {
      let last = '';
      for (let sent = 1; sent <= 30; sent++) {
        const port = 6000 + sent;
        await send(port);
        const told = ({ message }: StoredEvent): boolean => message.includes(` on port ${port}/`);
        const events = await rig.untilEvents(namespace, (all) => all.some(told), pod);
        last = events.find(told)?.message ?? '';
        if (last.includes('Denied by NetworkPolicy ')) return sent;
      }
      throw new Error(`[reading] the agent has not read the policies of ${namespace}: the last Event says\n${last}`);
    },
    /** The rows of the audit that have these fields. */
    rowsOf,
    /** The same, as soon as there is one row. */
    untilRows: (fields: Partial<FlowRecord>): Promise<readonly FlowRecord[]> =>
      until(
        () => {
          const found = rowsOf(fields);
          return found.length > 0 && found;
        },
        () => `no row with ${JSON.stringify(fields)} in\n${readText(audit)}`,
      ),
  };
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
