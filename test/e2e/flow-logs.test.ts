import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';

/** The agent reads lines of data planes' own loggers, as samples/ has them, at a real API server. */

const controlPlane = connect(inject('controlPlane'));
const node = 'flow-node';
const lines = readFileSync('samples/hubble-flows.log', 'utf8').split('\n');
const [verdict = '', drop = ''] = lines;
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, { items: [nodeObject(node, '192.168.83.1')] });
});
afterEach(() => rig.killAll());
afterAll(() => rig.killAll());

async function podIn(namespace: string, address: string): Promise<void> {
  await createObjects(controlPlane, {
    items: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      podObject({ namespace, name: 'web', node, addresses: [address] }),
    ],
  });
}

let port = 32_768;
/** Both lines of so many packets to that address, each of another connection, written now. Both name the Pod `web` there. */
function packets(count: number, address: string, namespace: string): string {
  const now = new Date().toISOString();
  return Array.from({ length: count }, () => {
    port++;
    return [verdict, drop].map((line) => {
      const moved = line
        .replaceAll(/2026-11-21T13:45:03[.\d]*Z/g, now)
        .replace('10.244.1.30', address)
        .replace('"namespace":"shop"', `"namespace":"${namespace}"`)
        .replace('"pod_name":"postgres-0"', '"pod_name":"web"');
      return `${moved.replace('"source_port":40112', `"source_port":${port}`)}\n`;
    });
  })
    .flat()
    .join('');
}

test('each packet counts once, over a rotation as Hubble makes it while the agent is killed', async () => {
  const namespace = 'flows-file';
  await podIn(namespace, '10.83.0.1');
  const log = join(rig.newFolder(), 'events.log');
  writeFileSync(log, '');
  const env = { NODE_NAME: node, SOURCES: `file:${log}`, STATE_DIR: rig.newFolder() };
  const first = rig.start(env);
  await first.untilReady();
  appendFileSync(log, packets(20, '10.83.0.1', namespace));
  await rig.untilEvents(namespace, (all) => sumOf(all) === 20);
  await first.kill();
  appendFileSync(log, packets(3, '10.83.0.1', namespace));
  renameSync(log, join(dirname(log), `events-${new Date().toISOString().replaceAll(':', '-').replace('Z', '')}.log`));
  writeFileSync(log, packets(4, '10.83.0.1', namespace));
  await rig.start(env).untilReady();
  const events = await rig.untilEvents(namespace, (all) => sumOf(all) >= 27);
  expect(sumOf(events)).toBe(27);
});

test('the packet of a Pod that is gone is not given to the Pod that has its address now', async () => {
  const namespace = 'flows-named';
  await podIn(namespace, '10.83.0.4');
  const log = join(rig.newFolder(), 'events.log');
  writeFileSync(log, '');
  await rig.start({ NODE_NAME: node, SOURCES: `file:${log}` }).untilReady();
  appendFileSync(log, packets(5, '10.83.0.4', 'flows-gone'));
  appendFileSync(log, packets(2, '10.83.0.4', namespace));
  const events = await rig.untilEvents(namespace, (all) => sumOf(all) >= 2);
  expect(sumOf(events)).toBe(2);
});

/** The lines as the container runtime writes them. */
function stamped(text: string): string {
  return text.replaceAll(/^(?=\{)/gm, `${new Date().toISOString()} stdout F `);
}

test('the log of a container counts only if it is that of cilium-agent', async () => {
  const namespace = 'flows-container';
  await podIn(namespace, '10.83.0.2');
  const root = rig.newFolder();
  const logOf = (pod: string, container: string): string => {
    const folder = join(root, `kube-system_${pod}_0b4ce7b1-3f6e-4c1c-8a43-6a8e7c0a4d11`, container);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, '0.log'), '');
    return join(folder, '0.log');
  };
  const [ours, other] = [logOf('cilium-x7k2p', 'cilium-agent'), logOf('cilium-evil', 'shell')];
  const CONTAINERS = 'kube-system/cilium*/*';
  await rig.start({ NODE_NAME: node, SOURCES: 'containers', POD_LOGS: root, CONTAINERS }).untilReady();
  appendFileSync(other, stamped(packets(5, '10.83.0.2', namespace)));
  appendFileSync(ours, stamped(packets(2, '10.83.0.2', namespace)));
  const events = await rig.untilEvents(namespace, (all) => sumOf(all) >= 2);
  expect(sumOf(events)).toBe(2);
});

test('the log of kube-network-policies is read by default, and each packet of two records counts once', async () => {
  const namespace = 'nfqueue-container';
  await podIn(namespace, '10.83.0.3');
  const root = rig.newFolder();
  const folder = join(root, 'kube-system_kube-network-policies-q7ztn_2f6a1c1e/kube-network-policies');
  mkdirSync(folder, { recursive: true });
  const log = join(folder, '0.log');
  writeFileSync(log, '');
  await rig.start({ NODE_NAME: node, SOURCES: 'containers', POD_LOGS: root }).untilReady();
  const sample = readFileSync('samples/kube-network-policies.log', 'utf8');
  const now = new Date().toISOString();
  appendFileSync(
    log,
    sample
      .replaceAll(/^2026-11-21T\S+/gm, now)
      .replaceAll('10.244.1.30', '10.83.0.3')
      .replaceAll(/10\.244\.\d\./g, '198.51.100.'),
  );
  const events = await rig.untilEvents(namespace, (all) => sumOf(all) >= 6);
  expect(sumOf(events)).toBe(6);
  expect(events.map(({ message }) => message).join()).toMatch(
    /receiving traffic from 198\.51\.100\.50 .*? on port 9187\/TCP/,
  );
});
