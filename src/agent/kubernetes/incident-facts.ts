import type { Backend, FelixSettings, NodeFacts } from '../../base/model/incident.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Connection } from './connection.ts';
import { createSharedAnswers } from '../../base/platform/fresh-values.ts';
import { at, type Json, list } from '../../base/platform/json.ts';
import { RefusedError } from './http.ts';
import { backendsIn, type EndpointSlice } from '../../explain/resolving/resolving.ts';
import { ifUsable, slimEndpointSlice } from './slim.ts';

export interface FelixReader {
  /** Asks again after a minute, or after a failure. Never rejects. */
  read(): Promise<Felix>;
}

type Felix = NonNullable<NodeFacts['felix']>;

/** Calico's datastore comes first, then its API server, which newer releases replace by custom resources. */
const groups = ['crd.projectcalico.org/v1', 'projectcalico.org/v3'];

const cachedFor: Millis = 60_000;

/** Fields of `node.<name>` override `default` (felix/config/config_params.go). Felix's environment and `nodeSelector` are not read. */
export function createFelixReader(
  connection: Pick<Connection, 'request'>,
  node: string,
  now: () => Millis,
): FelixReader {
  const answers = createSharedAnswers(readGroups, { entries: 1, now });

  return {
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
    for (const group of groups) {
      const felix = await readGroup(group);
      if (felix.kind === 'settings') return felix;
      if (felix.kind === 'unreadable') missing = felix;
    }
    return missing;
  }

  /** Rejects if the API server does not answer, because asking for another group would only wait again. */
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

  /** A missing right gives 403 even without Calico, but every client may ask for the group itself (system:discovery). */
  async function exists(group: string): Promise<boolean> {
    const answer = await connection.request('GET', `/apis/${group.split('/', 1)[0]}`);
    return answer.kind === 'answered' || answer.status !== 404;
  }
}

/** `common` is the object `default`, `special` is the object `own` of one node; undefined if it does not exist. */
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

/** The API server and felix do not accept a text in its place. */
function flag(value: Json): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** A longer text comes from an unknown version. */
function word(value: Json): string | undefined {
  return typeof value === 'string' && /^\w{1,32}$/.test(value) ? value : undefined;
}

/** The most EndpointSlices, with about a hundred endpoints each. An Event names only a few. */
const limit = 100;

/** The most characters of endpoints, about 10,000 of them: tenants may write 100,000 for one Service. */
const mostEndpoints = 1024 * 1024;

export function createBackendLookup({ request }: Pick<Connection, 'request'>) {
  return async (namespace: string, name: string): Promise<readonly Backend[]> => {
    const slices: EndpointSlice[] = [];
    let room = mostEndpoints;
    const onItem = (object: Json): void => {
      const slice = room > 0 ? ifUsable(slimEndpointSlice)(object) : undefined;
      if (slice === undefined) return;
      slices.push(slice);
      room -= slice.endpoints.length;
    };
    const answer = await request(
      'GET',
      `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices`,
      { query: { labelSelector: `kubernetes.io/service-name=${name}`, limit }, onItem },
    );
    if (answer.kind === 'refused') return [];
    for (const object of list(at(answer.body, 'items'))) onItem(object);
    return backendsIn(slices);
  };
}
