import { vi } from 'vitest';
import { definitionOf } from '../../deploy/custom-resources.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { NodeNamespace } from './node-namespace.ts';

/** Matches what Felix deletes once its eBPF data plane has taken over (felix/dataplane/linux/int_dataplane.go, KubeProxy cleanup). */
const JUMPS = /-j KUBE-[a-zA-Z0-9-]*SERVICES|-j KUBE-FORWARD/;
const CHAINS =
  /^(?:KUBE-FORWARD|KUBE-SERVICES|KUBE-EXTERNAL-SERVICES|KUBE-NODEPORTS|KUBE-SVC-.*|KUBE-SEP-.*|KUBE-FW-.*|KUBE-XLB-.*)$/;

/** Deletes kube-proxy's jumps and chains, once, in both address families; how many chains there were. */
export async function cleanUp(place: Pick<NodeNamespace, 'run'>): Promise<number> {
  let deleted = 0;
  for (const command of ['iptables', 'ip6tables'])
    for (const table of ['nat', 'filter', 'mangle', 'raw']) deleted += await cleanTable(place, command, table);
  return deleted;
}

async function cleanTable(place: Pick<NodeNamespace, 'run'>, command: string, table: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const { input, chains } = await deletion(place, command, table);
    if (input === '') return 0;
    const { code, stderr } = await place.run(`${command}-restore`, ['--wait', '5', '--noflush'], input);
    if (code === 0) return chains;
    // kube-proxy may have written since it was looked at.
    if (attempt === 5) throw new Error(`[felix] ${command} ${table}: ${stderr}\n${input}`);
  }
}

/** Returns the input for iptables-restore; '' where there is nothing to delete. */
async function deletion(
  place: Pick<NodeNamespace, 'run'>,
  command: string,
  table: string,
): Promise<{ input: string; chains: number }> {
  const { stdout } = await place.run(`${command}-save`, ['-t', table]);
  const lines = stdout.split('\n');
  const chains = lines.flatMap((line) => {
    const [, chain = ''] = /^:(\S+)/.exec(line) ?? [];
    return CHAINS.test(chain) ? [chain] : [];
  });
  const rules = lines.filter((line) => line.startsWith('-A '));
  const jumps = rules.filter((rule) => JUMPS.test(rule));
  const rest = rules.filter((rule) => !JUMPS.test(rule) && !CHAINS.test(rule.split(' ')[1] ?? ''));
  // A chain that is still jumped to from elsewhere cannot be deleted, only emptied.
  const held = new Set(rest.map((rule) => / -[jg] (\S+)/.exec(rule)?.[1]));
  if (chains.length === 0 && jumps.length === 0) return { input: '', chains: 0 };
  const restore = [
    `*${table}`,
    ...chains.map((chain) => `:${chain} - [0:0]`),
    ...jumps.filter((rule) => !CHAINS.test(rule.split(' ')[1] ?? '')).map((rule) => rule.replace('-A', '-D')),
    ...chains.filter((chain) => !held.has(chain)).map((chain) => `-X ${chain}`),
    'COMMIT',
    '',
  ];
  return { input: restore.join('\n'), chains: chains.length };
}

const SERVED_WITHIN_MS = 60_000;
/** Where Calico keeps it. */
const version = 'crd.projectcalico.org/v1';
const definition = definitionOf({
  group: 'crd.projectcalico.org',
  version: 'v1',
  kind: 'FelixConfiguration',
  scope: 'Cluster',
});

/** The kind FelixConfiguration, as Calico's manifests install it as far as it matters here. Resolves when it is served, somewhat later than it is established. */
export async function installFelixConfigurations(connection: Connection): Promise<void> {
  await connection.apply(definition);
  await vi.waitUntil(
    async () => (await connection.request('GET', `/apis/${version}/felixconfigurations`)).status === 200,
    { timeout: SERVED_WITHIN_MS, interval: 50 },
  );
}

/** `name`: `default`, or `node.<name>` for one node. */
export async function setFelixConfiguration(
  connection: Connection,
  spec: Readonly<Record<string, unknown>>,
  name: string,
): Promise<void> {
  // Without kubectl, which looks first for what kinds there are: a new one is in that list later than it is served.
  const path = `/apis/${version}/felixconfigurations/${name}?fieldManager=e2e&force=true`;
  const { status, body } = await connection.request('PATCH', path, {
    body: { apiVersion: version, kind: 'FelixConfiguration', metadata: { name }, spec },
    contentType: 'application/apply-patch+yaml',
  });
  if (status >= 300) throw new Error(`[felix] ${name}: ${status} ${JSON.stringify(body)}`);
}

/** Leaves the cluster as if Calico had never been installed. */
export async function removeFelixConfigurations(connection: Connection): Promise<void> {
  await connection.succeed(['delete', `crd/${definition.metadata.name}`, '--ignore-not-found', '--timeout=20s']);
}
