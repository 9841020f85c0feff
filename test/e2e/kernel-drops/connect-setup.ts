/**
 * The cluster in which the scenes of connections take place: its Pods, policies and Service, as the API server and the
 * guest have them.
 */
import type { CreatedObject } from '../control-plane/objects.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { nodeObject, podObject } from '../agent-rig.ts';
import { createInQuietHours } from '../quiet-hours.ts';
import {
  type ConnectScene,
  type ConnectsScene,
  isDenied,
  port,
  receiverOf,
  scenes,
  senders,
} from './connect-scenes.ts';
import { sceneOf } from './scene.ts';

export interface ConnectsOptions extends Pick<ConnectsScene, 'rounds' | 'minutes' | 'closedBeside'> {
  namespace: string;
  server: string;
  image: Parameters<typeof sceneOf>[1];
}

/** Creates the objects. The caller still has to set `tellPort`. */
export async function createConnectsScene(
  connection: Connection,
  { namespace, server, image, ...options }: ConnectsOptions,
): Promise<Omit<ConnectsScene, 'tellPort'>> {
  const node = `${namespace}-guest`;
  const names = [...senders, 'web', ...scenes.map((_, index) => receiverOf(index))];
  const pods = names.map((name, index) => ({
    name,
    netns: name,
    device: interfaceNames(namespace, name)[0] ?? '',
    address: `10.62.2.${index + 10}`,
    address6: `fd00:62:2::${(index + 16).toString(16)}`,
  }));
  const behind = scenes.findIndex(({ to }) => to === 'Service');
  await createInQuietHours(connection, [
    nodeObject(node, '10.0.2.15'),
    ...pods.map(({ name, address, address6 }) =>
      podObject({
        namespace,
        name,
        node,
        addresses: [address, address6],
        labels: labelsOf(name),
      }),
    ),
    ...policiesOf(namespace),
    ...serviceOf(namespace, receiverOf(behind), pods.find(({ name }) => name === receiverOf(behind))?.address ?? ''),
  ]);
  const scene = sceneOf(server, image);
  const uids = await uidsOf(connection, namespace);
  return {
    ...scene,
    ...options,
    node,
    namespace,
    pods: pods.map((pod) => Object.assign(pod, { uid: uids.get(pod.name) ?? '' })),
    service: await addressOf(connection, namespace),
    env: {
      ...scene.env,
      NODE_NAME: node,
      SOURCES: 'kernel-drops,kernel',
      AUDIT: 'file:/run/state/flows.jsonl',
      AUDIT_INTERVAL: '5',
    },
  };
}

function sceneOfReceiver(name: string): ConnectScene | undefined {
  return scenes[Number(/^receiver-(\d+)$/.exec(name)?.[1] ?? -1)];
}

function labelsOf(name: string): Record<string, string> {
  const scene = sceneOfReceiver(name);
  return { app: scene === undefined ? name : 'receiver', ...(scene && isDenied(scene) && { guarded: 'yes' }) };
}

export const guard = 'only-web';
export const noEgress = 'no-egress';

function policiesOf(namespace: string): KubernetesObject[] {
  const policy = (name: string, spec: object): KubernetesObject => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec: { ...spec },
  });
  const ports = [{ port, protocol: 'TCP' }];
  return [
    policy(guard, {
      podSelector: { matchLabels: { guarded: 'yes' } },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports }],
    }),
    policy(noEgress, { podSelector: { matchLabels: { app: 'strict' } }, policyTypes: ['Egress'] }),
  ];
}

const service = 'db';

function serviceOf(namespace: string, pod: string, address: string): KubernetesObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: service, namespace },
      spec: { ports: [{ name: 'db', port, targetPort: port, protocol: 'TCP' }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${service}-0`, namespace, labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      ports: [{ name: 'db', port, protocol: 'TCP' }],
      endpoints: [
        { addresses: [address], conditions: { ready: true }, targetRef: { kind: 'Pod', namespace, name: pod } },
      ],
    },
  ];
}

async function uidsOf(connection: Connection, namespace: string): Promise<ReadonlyMap<string, string>> {
  const { body } = await connection.request('GET', `/api/v1/namespaces/${namespace}/pods`);
  const { items } = body as { items: readonly CreatedObject[] };
  return new Map(items.map(({ metadata: { name, uid } }) => [name, uid]));
}

async function addressOf(connection: Connection, namespace: string): Promise<string> {
  const { body } = await connection.request('GET', `/api/v1/namespaces/${namespace}/services/${service}`);
  return String((body as KubernetesObject).spec?.['clusterIP']);
}
