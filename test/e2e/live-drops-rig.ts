import { execFileSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readManifests } from '../deploy/manifests.ts';
import { type AgentProcess } from './agent-process.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject } from './agent-rig.ts';
import type { CommandResult, Connection } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { makeAccount, type Rule } from './granted.ts';

/** An agent that serves /drops, behind the proxy of the API server, as a Pod of kube-netfilter-tailer. */
export interface LiveDropsRig {
  readonly agent: AgentProcess;
  /** Its Pod, and the port of /drops. */
  readonly pod: string;
  readonly port: number;
  /** The namespace of a Pod `web` and a Pod `db`, whose drops are logged by `drop`. */
  readonly namespace: string;
  /** Logs so many packets from web to db, on ports that follow one another, or on one. */
  readonly drop: (port: number, packets?: number) => void;
  /** Kubeconfigs of who has the Role of deploy/components/live-drops, and of who has not. */
  readonly viewer: string;
  readonly stranger: string;
  /** GET by the proxy of the API server, with the rights of a kubeconfig. */
  readonly ask: (kubeconfig: string, path: string) => Promise<CommandResult>;
  readonly stop: () => Promise<void>;
}

const place = 'kube-netfilter-tailer';

/** Needs root: the API server proxies to no address of the loopback network, so the machine gets one more, on `lo`. */
export async function createLiveDropsRig(connection: Connection): Promise<LiveDropsRig> {
  const run = randomBytes(3).toString('hex');
  const rig: AgentRig = await createAgentRig(connection);
  const address = `198.18.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  execFileSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
  const node = `live-${run}`;
  const namespace = `live-${run}`;
  const pod = `agent-${run}`;
  const net = `10.${randomInt(160, 200)}.${randomInt(1, 255)}`;
  const app = { 'app.kubernetes.io/name': place };
  const agentPod = podObject({ namespace: place, name: pod, node, addresses: [address] });
  await createObjects(connection, {
    items: [
      nodeObject(node, '192.168.86.1'),
      { ...agentPod, metadata: { ...agentPod.metadata, labels: app } },
      podObject({ namespace, name: 'web', node, addresses: [`${net}.1`] }),
      podObject({ namespace, name: 'db', node, addresses: [`${net}.2`] }),
    ],
  });
  const log = rig.newLog();
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, DROPS_ADDRESS: `${address}:0` });
  await agent.untilReady();
  const { dropsAddress } = await agent.untilLog(({ msg }) => msg === 'Started');
  const port = Number(String(dropsAddress).split(':').at(-1));

  const [role] = readManifests('deploy/components/live-drops/rbac.yaml') as unknown as [{ rules: Rule[] }];
  const account = async (name: string, isViewer: boolean): Promise<string> => {
    const subjects = [{ kind: 'ServiceAccount', name, namespace: place }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'kube-netfilter-tailer-drops' };
    const metadata = { name, namespace: place };
    const items = [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      role,
      ...(isViewer
        ? [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata, roleRef, subjects }]
        : []),
    ];
    const token = await makeAccount(connection, { namespace: place, name }, items, []);
    return await connection.writeKubeconfig(name, token);
  };
  const [viewer, stranger] = [await account(`viewer-${run}`, true), await account(`stranger-${run}`, false)];

  return {
    agent,
    pod,
    port,
    namespace,
    viewer,
    stranger,
    drop(to, packets = 1) {
      for (let count = 0; count < packets; count++) appendFileSync(log, dropLine(`${net}.1`, `${net}.2`, to));
    },
    ask: (kubeconfig, path) =>
      connection.kubectl(['get', '--raw', `/api/v1/namespaces/${place}/pods/${pod}:${port}/proxy${path}`], {
        kubeconfig,
      }),
    async stop() {
      await rig.killAll();
      execFileSync('ip', ['address', 'del', `${address}/32`, 'dev', 'lo']);
      await connection.kubectl(['delete', 'pod', pod, '-n', place, '--grace-period=0', '--force']);
    },
  };
}
