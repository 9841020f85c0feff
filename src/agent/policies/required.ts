/** Reads objects that Calico's policies refer to, when a policy that selects the Pod of an Event needs them. */
import type { Millis } from '../../base/model/log-line.ts';
import { createFreshValues, type FreshValue, type FreshValuesOptions } from '../../base/platform/fresh-values.ts';
import { allNamespaces, type NetworkSets, type PolicyReader } from '../kubernetes/kubernetes.ts';
import { weightOf } from '../../base/platform/weight.ts';
import type { CalicoObjects, Labels, Requirements } from '../../explain/policies/policies.ts';

/** The most answers of each kind, for all policies together. */
const most = { services: 256, accounts: 512, namespaces: 64 };

/** The most Services and Namespaces that are read for one Pod's policies, whose authors may name any number. */
const mostOfOne = { services: 16, namespaces: 16 };

export interface RequiredObjectsOptions {
  readonly reader: Pick<PolicyReader, 'networkSets' | 'endpoints' | 'accountLabels'>;
  readonly common: Pick<
    FreshValuesOptions<object>,
    'mayRead' | 'onFailed' | 'failedFor' | 'now' | 'memory' | 'resource'
  >;
}

export interface RequiredValues {
  /** The names and values of all parts, so that two results can be compared. Unknown values are undefined. */
  readonly parts: readonly unknown[];
  /** When the oldest known part was read; Infinity if none is known. */
  readonly at: Millis;
  readonly addTo: (calico: CalicoObjects) => CalicoObjects;
}

export interface RequiredObjects {
  /** Reads everything that was not read after `since`, as far as the asker's share of the budget allows. Never rejects. */
  refresh: (requirements: Requirements, since: Millis, asker: string) => Promise<void>;
  /** Values stay the same objects until they are read again. */
  known: (requirements: Requirements) => RequiredValues;
}

export function createRequiredObjects({ reader, common }: RequiredObjectsOptions): RequiredObjects {
  const networkSets = createFreshValues<NetworkSets>({
    ...common,
    read: (key) => reader.networkSets(key || undefined),
    max: most.namespaces,
    weigh: ({ bytes }) => bytes,
    namespaceOf: (key) => key || allNamespaces,
  });
  const services = createFreshValues<{ endpoints: Awaited<ReturnType<PolicyReader['endpoints']>> }>({
    ...common,
    read: async (key) => ({ endpoints: await reader.endpoints(key) }),
    max: most.services,
    weigh: ({ endpoints }) => weightOf(endpoints),
    namespaceOf,
  });
  const accounts = createFreshValues<{ labels: Labels | undefined }>({
    ...common,
    read: async (key) => ({ labels: await reader.accountLabels(key) }),
    max: most.accounts,
    weigh: ({ labels }) => weightOf(labels, { freeKeys: true }),
    namespaceOf,
  });

  return {
    async refresh(this: void, requirements: Requirements, since: Millis, asker: string): Promise<void> {
      await Promise.all([
        ...setKeys(requirements).map((key) => networkSets.refresh(key, since, asker)),
        ...requirements.services.slice(0, mostOfOne.services).map((key) => services.refresh(key, since, asker)),
        ...requirements.serviceAccounts.map((key) => accounts.refresh(key, since, asker)),
      ]);
    },
    known(requirements: Requirements): RequiredValues {
      const sets = new Map(setKeys(requirements).map((key) => [key, networkSets.get(key)]));
      const named = new Map(requirements.services.map((key) => [key, services.get(key)]));
      const labelled = new Map(requirements.serviceAccounts.map((key) => [key, accounts.get(key)]));
      const parts: [string, FreshValue<object> | undefined][] = [...sets, ...named, ...labelled];
      return {
        parts: parts.flatMap(([key, part], index) => [index < sets.size ? `sets ${key}` : key, part?.value]),
        at: Math.min(...parts.map(([, part]) => part?.at ?? Infinity)),
        addTo: (calico) => ({
          ...calico,
          networkSets: [...calico.networkSets, ...[...sets.values()].flatMap((each) => each?.value.sets ?? [])],
          serviceAccounts: new Map(
            [...labelled].flatMap(([key, found]) =>
              found?.value.labels === undefined ? [] : [[key, found.value.labels]],
            ),
          ),
          endpointsOf: (service) => named.get(service)?.value.endpoints ?? calico.endpointsOf(service),
          unread: [...sets.values()].every((each) => each?.value.unread === false)
            ? calico.unread
            : new Set([...calico.unread, 'networksets' as const]),
        }),
      };
    },
  };
}

/** Returns the Namespaces to list. `''` means all Namespaces in one list, which is also used if too many are named. */
function setKeys({ networkSets }: Requirements): readonly string[] {
  return networkSets === 'all' || networkSets.length > mostOfOne.namespaces ? [''] : networkSets;
}

function namespaceOf(key: string): string {
  return key.split('/', 1)[0] ?? '';
}
