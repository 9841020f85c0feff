/** Keeps one kind of object in the lists as the API server has it. */
import type { Clock } from '../platform/clock.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { Connection } from './connection.ts';
import {
  createInformer,
  type Informer,
  type InformerOptions,
  type InformerReport,
  type WatchedResource,
} from './informer.ts';
import type { ListOptions } from './paged-list.ts';
import { onSteadyClock } from '../resolving/pod-record.ts';
import { slimEndpointSlice, slimNamespace, slimNode, slimPod, slimService } from './slim.ts';

export interface ListInformerOptions {
  connection: Connection;
  lists: LiveLists;
  /** Names of the labels that Pods are kept with; by default none. */
  podLabels?: readonly string[] | undefined;
  /** Takes the names of the Namespaces that asked not to be named; undefined: they are not watched. */
  optedOut?: Set<string> | undefined;
  report: InformerReport;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  pause?: InformerOptions<never>['pause'];
  silence?: InformerOptions<never>['silence'];
}

/** A list that may be long comes in pages: 100 Pods are about 1.4 MB of JSON. */
export const everything: ListOptions = { pageSize: 100 };

/** `of`: which objects of the kind. */
export function informerOf(resource: WatchedResource, of: ListOptions, options: ListInformerOptions): Informer {
  const { connection, lists, podLabels, optedOut, report, clock, random, pause, silence } = options;
  const { now, fromWall } = clock;
  const common = { ...of, connection, resource, report, now, random, pause, silence };
  switch (resource) {
    case 'pods':
      return createInformer({
        ...common,
        slim: (object) => onSteadyClock(slimPod(object, podLabels), fromWall),
        store: {
          set: (pod) => lists.setPod(pod, now()),
          delete: (namespace, name) => lists.removePod(namespace, name, now()),
        },
      });
    case 'nodes':
      return createInformer({
        ...common,
        slim: slimNode,
        store: { set: (node) => lists.setNode(node), delete: (_, name) => lists.removeNode(name) },
      });
    case 'services':
      return createInformer({
        ...common,
        slim: slimService,
        store: {
          set: (service) => lists.setService(service, now()),
          delete: (namespace, name) => lists.removeService(namespace, name, now()),
        },
      });
    case 'endpointslices':
      return createInformer({
        ...common,
        slim: slimEndpointSlice,
        store: {
          set: (slice) => lists.chains.setSlice(slice, now()),
          delete: (namespace, name) => lists.chains.removeSlice(namespace, name, now()),
        },
      });
    case 'namespaces':
      return createInformer({
        ...common,
        slim: slimNamespace,
        store: { set: ({ name }) => optedOut?.add(name), delete: (_, name) => optedOut?.delete(name) },
      });
    default:
      return resource satisfies never;
  }
}
