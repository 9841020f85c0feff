/** Makes the informers that fill lists of the cluster. */
import type { Clock } from '../../base/platform/clock.ts';
import type { Json } from '../../base/platform/json.ts';
import { type MemoryAccountOptions, ranks } from '../../base/platform/memory-budget.ts';
import { type Bytes, weightOfText } from '../../base/platform/weight.ts';
import {
  type LiveLists,
  onSteadyClock,
  weightOfNode,
  weightOfService,
  weightOfSlice,
} from '../../explain/resolving/resolving.ts';
import type { Connection } from './connection.ts';
import {
  createInformer,
  type Informer,
  type InformerOptions,
  type InformerReport,
  type WatchedResource,
} from './informer.ts';
import type { ListOptions, ObjectName, Store } from './list-watch.ts';
import { withPolicyView } from './policy-view.ts';
import { slimEndpointSlice, slimNamespace, slimNode, slimPod, slimService } from './slim.ts';

export interface ListInformerOptions {
  connection: Connection;
  lists: LiveLists;
  podLabels?: readonly string[] | undefined;
  /** Receives the names of Namespaces that opted out of the audit; undefined if they are not watched. */
  optedOut?: Set<string> | undefined;
  report: InformerReport;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  pause?: InformerOptions<never>['pause'];
  silence?: InformerOptions<never>['silence'];
}

/** Lists everything in pages, because 100 Pods are about 1.4 MB of JSON. */
export const pagedList: ListOptions = { pageSize: 100 };

export function informerOf(resource: WatchedResource, of: ListOptions, options: ListInformerOptions): Informer {
  const { lists, podLabels, optedOut, clock } = options;
  const { now, fromWall } = clock;
  const { chains, memory } = lists;
  const informer = <T extends ObjectName>(slim: (object: Json) => T, store: Store<T>, weigh: (object: T) => Bytes) =>
    createInformer({ ...options, ...of, resource, slim, store, weigh, rank: rankOf[resource], memory, now });
  switch (resource) {
    case 'pods':
      return informer(
        (object) => withPolicyView(onSteadyClock(slimPod(object, podLabels), fromWall), object, lists.ownNode),
        {
          set: (pod) => lists.setPod(pod, now()),
          delete: (namespace, name) => lists.removePod(namespace, name, now()),
          leaveOut: lists.leaveOutPod,
        },
        lists.weightOfPod,
      );
    case 'nodes':
      return informer(
        slimNode,
        {
          set: (node) => lists.setNode(node),
          delete: (_, name) => lists.removeNode(name),
          leaveOut: (_, name) => lists.removeNode(name),
        },
        weightOfNode,
      );
    case 'services':
      return informer(
        slimService,
        {
          set: (service) => lists.setService(service, now()),
          delete: (namespace, name) => lists.removeService(namespace, name, now()),
          leaveOut: lists.leaveOutService,
        },
        weightOfService,
      );
    case 'endpointslices':
      return informer(
        slimEndpointSlice,
        {
          set: (slice) => chains.setSlice(slice, now()),
          delete: (namespace, name) => chains.removeSlice(namespace, name, now()),
          leaveOut: chains.leaveOutSlice,
        },
        weightOfSlice,
      );
    case 'namespaces':
      return informer(
        slimNamespace,
        {
          set: ({ name }) => optedOut?.add(name),
          delete: (_, name) => optedOut?.delete(name),
          leaveOut: () => {},
        },
        ({ name }) => weightOfText(name),
      );
    default:
      return resource satisfies never;
  }
}

const rankOf: Readonly<Record<WatchedResource, MemoryAccountOptions['rank']>> = {
  namespaces: ranks.names,
  nodes: ranks.names,
  pods: ranks.pods,
  services: ranks.services,
  endpointslices: ranks.slices,
};
