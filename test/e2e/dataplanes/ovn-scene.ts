import { rmSync } from 'node:fs';
import { expect } from 'vitest';
import { createAgentRig, nodeObject, podObject } from '../agent-rig.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createNamespaceGroup } from '../network/namespaces.ts';
import type { Probe } from '../network/prober.ts';
import { sendPackets } from '../network/sending.ts';
import { createOwnFolder } from '../own-folder.ts';
import { createInQuietHours } from '../quiet-hours.ts';
import { startOvn } from './ovn.ts';
import { type OvnProject, schemasOf, startController } from './ovn-controllers.ts';
import { type Reading, startReading } from './reading.ts';

export interface OvnCase {
  readonly title: string;
  readonly from: string;
  /** A Pod, or an address outside the cluster. */
  readonly to: string;
  /** What Events say about the denial. */
  readonly verdict: string;
  readonly decidedBy: string;
  readonly protocol: Probe['protocol'];
  readonly family: 0 | 1;
  /** The name of the ACL. */
  readonly acl: string;
}

interface SceneOptions {
  readonly project: OvnProject;
  readonly checkout: string;
  readonly namespace: string;
  /** Annotations of the Namespace. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The label `app` of each Pod is its name. */
  readonly pods: readonly (
    | string
    | { readonly name: string; readonly annotations: Readonly<Record<string, string>> }
  )[];
  /** Other objects that the controller needs for the policies. */
  readonly objects?: readonly KubernetesObject[];
  readonly policies: readonly object[];
  readonly cases: readonly [OvnCase, ...OvnCase[]];
  /** Gets functions that end the scene; they are called in this order. */
  readonly ending: (() => unknown)[];
}

export interface OvnScene {
  readonly reading: Reading;
  /** Resolves when both ends have an Event about the one packet that was sent, and the audit has its row. */
  readonly untilTold: (each: OvnCase) => Promise<void>;
}

const node = 'ovn-node';
const port = 5432;

/**
 * A real control plane, a real OVN, the real controllers of a project and an agent. One packet of each case has been
 * sent.
 */
export async function startOvnScene(options: SceneOptions): Promise<OvnScene> {
  const { project, checkout, namespace, annotations = {}, objects = [], policies, cases, ending } = options;
  const pods = options.pods.map((pod) => (typeof pod === 'string' ? { name: pod } : pod));
  const folder = createOwnFolder('ovn');
  ending.unshift(() => rmSync(folder, { recursive: true, force: true }));
  const connection = await startControlPlane();
  ending.unshift(connection.stop);
  const rig = await createAgentRig(connection);
  ending.unshift(() => rig.killAll());
  await project.define({ connection, checkout });
  await createInQuietHours(connection, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, annotations } },
    withAnnotations(nodeObject(node, '192.168.66.1', 'fd00:66:1::1'), project.nodeAnnotations(node)),
    ...pods.map((pod) => podObject({ ...pod, namespace, node, addresses: [], labels: { app: pod.name } })),
    ...objects,
  ]);
  const group = await createNamespaceGroup();
  ending.unshift(() => group.remove());
  const ovn = await startOvn(group, folder, { chassis: node, schemas: schemasOf(checkout) });
  ending.unshift(() => ovn.stop());
  const controller = await startController(project, ovn, { connection, checkout, folder, node });
  ending.unshift(controller.stop);
  await controller.joinPods(
    namespace,
    pods.map(({ name }) => name),
  );
  // Not earlier: Kube-OVN leaves out rules whose peers have no addresses yet, and Pods whose port does not exist yet.
  await connection.apply(...policies);
  await controller.untilLogged(cases.map(({ acl }) => acl));
  await ovn.untilInForce();
  const reading = await startReading(connection, rig, node, ovn.aclLog);

  const send = async ({ from, to, protocol, family }: OvnCase, toPort = port): Promise<void> => {
    const source = controller.addressesOf(from)[family] ?? '';
    const destination = controller.addressesOf(to)[family] ?? to;
    await sendPackets(ovn.namespaceOf(from), [{ protocol, source, sourcePort: 45_000, destination, port: toPort }]);
  };
  const [first] = cases;
  await reading.untilPoliciesAreRead(namespace, first.to, (to) => send(first, to));
  for (const each of cases) {
    await send(each);
    await ovn.linesOf(each.acl);
  }

  return {
    reading,
    async untilTold({ from, to, verdict, decidedBy, protocol }) {
      const packet = `on port ${port}/${protocol.toUpperCase()}`;
      const isPod = pods.some(({ name }) => name === to);
      if (isPod) await reading.untilMessage(namespace, to, `from ${namespace}/${from} `, packet, verdict);
      await reading.untilMessage(namespace, from, isPod ? `to ${namespace}/${to} ` : `to ${to} `, packet, verdict);
      const rows = await reading.untilRows({
        'source.k8s.pod.name': from,
        'destination.k8s.pod.name': isPod ? to : undefined,
        'destination.port': port,
      });
      expect(rows).toMatchObject([
        { 'network.packets': 1, 'policy.verdict': 'denied', 'policy.decided_by': decidedBy },
      ]);
    },
  };
}

function withAnnotations(object: KubernetesObject, annotations: Readonly<Record<string, string>>): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, annotations } };
}
