/** Keeps one kind of object in the lists as the API server has it. */
import type { Clock } from '../platform/clock.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { Connection } from './connection.ts';
import { createInformer, type Informer, type InformerOptions, type InformerProblem } from './informer.ts';
import type { ListOptions } from './paged-list.ts';
import { onSteadyClock } from '../resolving/pod-record.ts';
import { slimEndpointSlice, slimNamespace, slimNode, slimPod, slimService } from './slim.ts';

export const paths = {
  pods: '/api/v1/pods',
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
  namespaces: '/api/v1/namespaces',
} as const;

export type WatchedResource = keyof typeof paths;

export interface ListInformerOptions {
  connection: Connection;
  lists: LiveLists;
  /** Names of the labels that Pods are kept with; by default none. */
  podLabels?: readonly string[] | undefined;
  /** Takes the names of the Namespaces that asked not to be named; undefined: they are not watched. */
  optedOut?: Set<string> | undefined;
  onProblem: (resource: WatchedResource, problem: InformerProblem) => void;
  onSynced: (resource: WatchedResource) => void;
  onUnusable: (resource: WatchedResource, error: unknown) => void;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  pause?: InformerOptions<never>['pause'];
  silence?: InformerOptions<never>['silence'];
}

/** A list that may be long comes in pages: 100 Pods are about 1.4 MB of JSON. */
export const everything: ListOptions = { pageSize: 100 };

/** `of`: which objects of the kind. */
export function informerOf(resource: WatchedResource, of: ListOptions, options: ListInformerOptions): Informer {
  const { connection, lists, podLabels, optedOut, clock, random, pause, silence } = options;
  const { now, fromWall } = clock;
  const common = {
    ...of,
    connection,
    path: paths[resource],
    now,
    random,
    pause,
    silence,
    onProblem: (problem: InformerProblem) => options.onProblem(resource, problem),
    onSynced: () => options.onSynced(resource),
    onUnusable: (error: unknown) => options.onUnusable(resource, error),
  };
  switch (resource) {
    case 'pods':
      return createInformer({
        ...common,
        slim: (object) => onSteadyClock(slimPod(object, podLabels), fromWall),
        onSet: (pod) => lists.setPod(pod, now()),
        onDelete: (namespace, name) => lists.removePod(namespace, name, now()),
      });
    case 'nodes':
      return createInformer({
        ...common,
        slim: slimNode,
        onSet: (node) => lists.setNode(node),
        onDelete: (_, name) => lists.removeNode(name),
      });
    case 'services':
      return createInformer({
        ...common,
        slim: slimService,
        onSet: (service) => lists.setService(service, now()),
        onDelete: (namespace, name) => lists.removeService(namespace, name, now()),
      });
    case 'endpointslices':
      return createInformer({
        ...common,
        slim: slimEndpointSlice,
        onSet: (slice) => lists.chains.setSlice(slice, now()),
        onDelete: (namespace, name) => lists.chains.removeSlice(namespace, name, now()),
      });
    case 'namespaces':
      return createInformer({
        ...common,
        slim: slimNamespace,
        onSet: ({ name }) => optedOut?.add(name),
        onDelete: (_, name) => optedOut?.delete(name),
      });
    default:
      return resource satisfies never;
  }
}
