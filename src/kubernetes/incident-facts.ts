import type { FelixSettings, NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import type { Connection } from './connection.ts';
import { createSharedAnswers } from '../platform/fresh-values.ts';
import { at, type Json, list } from '../platform/json.ts';
import { RefusedError } from './refusal.ts';
import type { Backend } from '../model/service-chain.ts';
import { backendsIn } from '../resolving/objects.ts';
import { ifUsable, slimEndpointSlice } from './slim.ts';

export interface FelixReaderOptions {
  connection: Pick<Connection, 'request'>;
  node: string;
  now: () => Millis;
}

export type FelixReader = ReturnType<typeof createFelixReader>;

type Felix = NonNullable<NodeFacts['felix']>;

/** First custom resources of Calico's backing store, then Calico's API server, which newer releases replace by such resources. */
const groups = ['crd.projectcalico.org/v1', 'projectcalico.org/v3'];

const cachedFor: Millis = 60_000;

/** `node.<name>` wins by field (felix/config/config_params.go). Not seen: felix's environment, objects with a `nodeSelector`. */
export function createFelixReader({ connection, node, now }: FelixReaderOptions) {
  const answers = createSharedAnswers(readGroups, { entries: 1, now });
  /** The path at which the objects were found last. */
  let home = groups[0];

  return {
    /** Answers that are at most a minute old; a failure is asked for again, and calls at the same time share the requests. Never rejects. */
    async read(): Promise<Felix> {
      try {
        return (await answers.get('', cachedFor)).value;
      } catch {
        return { kind: 'unreadable', reason: 'failed' };
      }
    },
  };

  async function readGroups(): Promise<Felix> {
    let missing: Felix = { kind: 'absent' };
    for (const group of groups.toSorted((a, b) => Number(b === home) - Number(a === home))) {
      const felix = await readGroup(group);
      if (felix.kind === 'settings') {
        home = group;
        return felix;
      }
      if (felix.kind === 'unreadable') missing = felix;
    }
    return missing;
  }

  /** Rejects where the API server does not answer: for another group it would only be waited for a second time. */
  async function readGroup(group: string): Promise<Felix> {
    const own = `node.${node}`;
    const both = await Promise.all(['default', own].map((name) => ask(group, name)));
    if (both.every((answer) => answer.kind === 'refused' && answer.status === 404)) return { kind: 'absent' };
    const refused = both.find((answer) => answer.kind === 'refused' && answer.status !== 404);
    if (refused?.kind === 'refused') {
      if (refused.status !== 403) throw new RefusedError(refused);
      return (await exists(group)) ? { kind: 'unreadable', reason: 'forbidden' } : { kind: 'absent' };
    }
    const [common, special] = both.map((answer) => (answer.kind === 'answered' ? answer.body : undefined));
    return { kind: 'settings', settings: settingsOf(common, special, own) };
  }

  function ask(group: string, name: string): ReturnType<Connection['request']> {
    return connection.request('GET', `/apis/${group}/felixconfigurations/${encodeURIComponent(name)}`);
  }

  /** A missing right gives 403 even without Calico, but every authenticated client may list groups (system:discovery). */
  async function exists(group: string): Promise<boolean> {
    const answer = await connection.request('GET', `/apis/${group.split('/', 1)[0]}`);
    return answer.kind === 'answered' || answer.status !== 404;
  }
}

/** `default`, and the object of one node by the name `own`; undefined if there is none. */
export function settingsOf(common: Json, special: Json, own: string): FelixSettings {
  const read = <T>(field: keyof FelixSettings, valid: (value: Json) => T | undefined): T | undefined =>
    valid(at(special, 'spec', field)) ?? valid(at(common, 'spec', field));
  const from = (field: keyof FelixSettings): string | undefined => {
    if (flag(at(special, 'spec', field)) !== undefined) return own;
    return flag(at(common, 'spec', field)) === undefined ? undefined : 'default';
  };
  return {
    bpfEnabled: read('bpfEnabled', flag),
    bpfKubeProxyIptablesCleanupEnabled: read('bpfKubeProxyIptablesCleanupEnabled', flag),
    logSeverityScreen: read('logSeverityScreen', word),
    iptablesBackend: read('iptablesBackend', word),
    nftablesMode: read('nftablesMode', word),
    bpfFrom: from('bpfEnabled'),
    cleanupFrom: from('bpfKubeProxyIptablesCleanupEnabled'),
  };
}

/** A boolean in every version of the resource: the API server takes no text for it, and neither does felix. */
function flag(value: Json): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** All of these fields are enumerations; anything longer is of a version that this program does not know. */
function word(value: Json): string | undefined {
  return typeof value === 'string' && /^\w{1,32}$/.test(value) ? value : undefined;
}

/** Slices in the answer, each of about a hundred endpoints: many more Pods than an Event names. */
const limit = 100;

/** Asks who is behind a Service, where EndpointSlices are not watched. One request; resolves to no backend when it is refused. */
export function createBackendLookup({ request }: Pick<Connection, 'request'>) {
  return async (namespace: string, name: string): Promise<readonly Backend[]> => {
    const answer = await request(
      'GET',
      `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices`,
      { query: { labelSelector: `kubernetes.io/service-name=${name}`, limit } },
    );
    if (answer.kind === 'refused') return [];
    return backendsIn(list(at(answer.body, 'items')).flatMap((object) => ifUsable(slimEndpointSlice)(object) ?? []));
  };
}
