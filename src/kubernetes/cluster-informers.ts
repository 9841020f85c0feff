import type { Clock } from '../platform/clock.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { Connection } from './connection.ts';
import { createInformer, type Informer, type InformerOptions, type InformerProblem } from './informer.ts';
import { auditOptOut } from '../model/choices.ts';
import { onSteadyClock } from '../resolving/pod-record.ts';
import { slimEndpointSlice, slimNamespace, slimNode, slimPod, slimService } from './slim.ts';

export const paths = {
  pods: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
  namespaces: '/api/v1/namespaces',
} as const;

/** A label, not an annotation: the API server sends only Namespaces that have it. */
const optOutLabel = `${auditOptOut.key}=${auditOptOut.value}`;

export type WatchedResource = keyof typeof paths;

export interface ClusterInformerOptions {
  connection: Connection;
  lists: LiveLists;
  ownNode: string;
  /** `node`: the Pods of this node; `cluster`: all Pods. */
  podCache: 'node' | 'cluster';
  /** Names of the labels that Pods are kept with; by default none. */
  podLabels?: readonly string[] | undefined;
  /** Takes the names of the Namespaces that asked not to be named; undefined: they are not watched. */
  optedOut?: Set<string> | undefined;
  onProblem: (resource: WatchedResource, problem: InformerProblem) => void;
  onSynced: (resource: WatchedResource) => void;
  onUnusable: (resource: WatchedResource, error: unknown) => void;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  /** As of an informer. */
  pause?: InformerOptions<never>['pause'];
  silence?: InformerOptions<never>['silence'];
}

/** Pages of a list that may be long: 100 Pods are about 1.4 MB of JSON. */
const pageSize = 100;

/** Hands one kind of object to the lists. `all`: not only our own Node. */
export function informerOf(
  resource: WatchedResource,
  all: boolean,
  {
    connection,
    lists,
    ownNode,
    podCache,
    podLabels,
    optedOut,
    clock: { now, fromWall },
    random,
    pause,
    silence,
    ...on
  }: ClusterInformerOptions,
  giveUp: () => void,
): Informer {
  const common = {
    connection,
    path: paths[resource],
    now,
    random,
    pause,
    silence,
    onProblem(problem: InformerProblem) {
      on.onProblem(resource, problem);
      if (isFinal(resource, problem.refusal?.status)) giveUp();
    },
    onSynced: () => on.onSynced(resource),
    onUnusable: (error: unknown) => on.onUnusable(resource, error),
  };
  switch (resource) {
    case 'pods':
      return createInformer({
        ...common,
        ...(podCache === 'node' ? selection(`spec.nodeName=${ownNode}`) : everything),
        slim: (object) => onSteadyClock(slimPod(object, podLabels), fromWall),
        onSet: (pod) => lists.setPod(pod, now()),
        onDelete: (namespace, name) => lists.removePod(namespace, name, now()),
      });
    case 'nodes':
      return createInformer({
        ...common,
        ...(all ? everything : selection(`metadata.name=${ownNode}`)),
        slim: slimNode,
        onSet: (node) => lists.setNode(node),
        onDelete: (_, name) => lists.removeNode(name),
      });
    case 'services':
      return createInformer({
        ...common,
        ...everything,
        slim: slimService,
        onSet: (service) => lists.setService(service, now()),
        onDelete: (namespace, name) => lists.removeService(namespace, name, now()),
      });
    case 'endpointslices':
      return createInformer({
        ...common,
        ...everything,
        slim: slimEndpointSlice,
        onSet: (slice) => lists.chains.setSlice(slice, now()),
        onDelete: (namespace, name) => lists.chains.removeSlice(namespace, name, now()),
      });
    case 'namespaces':
      return createInformer({
        ...common,
        labelSelector: optOutLabel,
        pageSize: undefined,
        slim: slimNamespace,
        onSet: ({ name }) => optedOut?.add(name),
        onDelete: (_, name) => optedOut?.delete(name),
      });
    default:
      return resource satisfies never;
  }
}

const everything = { pageSize };

function selection(fieldSelector: string) {
  return { fieldSelector, pageSize: undefined };
}

/** Who may not read what is of use only now and then, or runs an API server that has none of it, does not ask for it all the time. */
export function isFinal(resource: WatchedResource, status: number | undefined): boolean {
  return resource === 'endpointslices' && (status === 403 || status === 404);
}
