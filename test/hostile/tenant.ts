import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';
import { inTurns } from '../e2e/in-turns.ts';
import { type Resource, resources, type Targets, type Tenant, type TenantObject, type TenantPod } from './attack.ts';
import { deviceOf, hostileNamespaces, nodeAddress, nodeName } from './names.ts';
import { createChance, mark } from './words.ts';

/** The tools of an attack. */
export interface TenantOptions {
  readonly connection: Connection;
  readonly token: string;
  readonly seed: number;
  readonly targets: Targets;
  readonly log: string;
  readonly podLogs: string;
  /** How long the preparation of each attack may take. */
  readonly preparation: Millis;
}

/** The outcome of the attacks. */
export interface TenantFigures {
  readonly objects: number;
  readonly bytes: number;
  /** Pods that run on the agent's node. */
  readonly pods: number;
  /** Answers other than success, by status. */
  readonly refusals: Readonly<Record<number, number>>;
}

export interface TenantControl {
  readonly tenant: Tenant;
  listeners: { metrics: string; health: string };
  /** From here on, `fill` has this much time. */
  readonly beginPreparation: () => void;
  readonly end: () => void;
  /** Removes everything that it made. */
  readonly removeAll: () => Promise<void>;
  readonly figures: () => TenantFigures;
}

/** The number of requests at the same time. */
const width = 8;
/** The nodes' ranges have room for the first Pods. */
const firstAddress = 128;

export function createTenant(options: TenantOptions): TenantControl {
  const { connection, token, targets, log, podLogs } = options;
  const ending = new AbortController();
  const made = new Map<string, string>();
  const refusals: Record<number, number> = {};
  let [objects, bytes, deadline, pods] = [0, 0, 0, 0];

  const put: Tenant['put'] = async (resource, namespace, object) => {
    const collection = pathOf(resource, namespace);
    const path = `${collection}/${object.metadata.name}`;
    const body = typed(resource, object);
    const created = await connection.request('POST', collection, { body, token }).catch(() => ({ status: 0 }));
    const answer =
      created.status === 409
        ? await connection.request('PATCH', path, { body, token }).catch(() => ({ status: 0 }))
        : created;
    if (answer.status >= 200 && answer.status < 300) {
      objects++;
      bytes += JSON.stringify(body).length;
      made.set(path, resource);
    } else refusals[answer.status] = (refusals[answer.status] ?? 0) + 1;
    return answer.status;
  };
  const remove = async (path: string): Promise<void> => {
    const now = made.get(path) === 'pods' ? '?gracePeriodSeconds=0' : '';
    await connection.request('DELETE', path + now, { token }).catch(() => {});
    made.delete(path);
  };
  const runPod = async (number: number, object: TenantObject): Promise<TenantPod> => {
    const namespace = namespaceAt(number);
    const { name } = object.metadata;
    const own = object['spec'] as { readonly hostNetwork?: boolean } | undefined;
    const address = own?.hostNetwork === true ? nodeAddress : addressOf(number);
    const spec = { nodeName, containers: [{ name: mark, image: `${mark}:1` }], ...own };
    const status = await put('pods', namespace, { ...object, spec });
    if (status === 201) await writeStatus(connection, namespace, name, address);
    return { namespace, name, address, device: deviceOf(`${namespace}/${name}`) };
  };

  const tenant: Tenant = {
    namespaces: hostileNamespaces,
    chance: createChance(options.seed),
    targets,
    get listeners() {
      return control.listeners;
    },
    get isOver() {
      return ending.signal.aborted;
    },
    wait: (duration) => delay(duration, undefined, { signal: ending.signal }).catch(() => {}),
    put,
    remove: (resource, namespace, name) => remove(`${pathOf(resource, namespace)}/${name}`),
    async removeAll(resource) {
      const now = '?gracePeriodSeconds=0';
      await Promise.all(
        hostileNamespaces.map((namespace) =>
          connection.request('DELETE', pathOf(resource, namespace) + now, { token }).catch(() => {}),
        ),
      );
    },
    fill: (resource, count, make, namespace) =>
      inTurns(width, [0, count], async (index) => {
        if (performance.now() < deadline) await put(resource, namespace ?? namespaceAt(index), make(index));
      }),
    async runPods(count, make = plainPod) {
      const first = pods;
      pods += count;
      const running: TenantPod[] = [];
      await inTurns(width, [first, first + count], async (number) => running.push(await runPod(number, make(number))));
      return running;
    },
    log: (...lines) => appendFileSync(log, lines.join('')),
    podLogs,
  };
  const control: TenantControl = {
    tenant,
    listeners: { metrics: '', health: '' },
    beginPreparation: () => (deadline = performance.now() + options.preparation),
    end: () => ending.abort(),
    async removeAll() {
      const paths = [...made.keys()];
      await inTurns(2 * width, [0, paths.length], (index) => remove(paths[index] as string));
    },
    figures: () => ({ objects, bytes, pods, refusals }),
  };
  return control;
}

function pathOf(resource: Resource, namespace: string): string {
  return `${resources[resource]}/namespaces/${namespace}/${resource.replace('calicoPolicies', 'networkpolicies')}`;
}

function namespaceAt(index: number): string {
  return hostileNamespaces[index % hostileNamespaces.length] as string;
}

function plainPod(index: number): TenantObject {
  return { metadata: { name: `${mark}-pod-${index}`, labels: { app: mark } } };
}

/** Does the kubelet's part. */
async function writeStatus(connection: Connection, namespace: string, name: string, address: string): Promise<void> {
  const startTime = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '');
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }];
  const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }], startTime, conditions };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  await connection.request('PATCH', path, { body: { status } }).catch(() => {});
}

/** First in the node's range, then in one that no node has. */
function addressOf(number: number): string {
  const host = firstAddress + number;
  return host < 255 ? `10.77.1.${host}` : `10.66.${(number >> 8) & 255}.${number & 255}`;
}

const kinds: Readonly<Record<Resource, string>> = {
  pods: 'Pod',
  services: 'Service',
  endpoints: 'Endpoints',
  serviceaccounts: 'ServiceAccount',
  configmaps: 'ConfigMap',
  events: 'Event',
  endpointslices: 'EndpointSlice',
  networkpolicies: 'NetworkPolicy',
  deployments: 'Deployment',
  jobs: 'Job',
  calicoPolicies: 'NetworkPolicy',
  networksets: 'NetworkSet',
  ciliumnetworkpolicies: 'CiliumNetworkPolicy',
};

/** The object with its version and kind, as it is sent. */
function typed(resource: Resource, object: TenantObject): object {
  return { apiVersion: resources[resource].replace(/^\/apis?\//, ''), kind: kinds[resource], ...object };
}
