/** Which kinds of policies there are, asked again now and then. */
import type { Millis } from '../model/log-line.ts';
import { awayPolicy, type Policy } from '../policies/policies.ts';
import type { Connection } from './connection.ts';
import { createSharedAnswers } from './pod-finders/shared-answers.ts';
import { discoverKinds, type DiscoveredKinds, type PolicyKind } from './policy-kinds.ts';
import { RefusedError } from './refusal.ts';

/** Which kinds the API server has changes when CustomResourceDefinitions are installed. */
const kindsAge: Millis = 600_000;

/** What is away may be back soon. */
const awayAge: Millis = 10_000;

/** Both reject with a `RefusedError`. */
export interface Discovery {
  /** Those of them that are served. */
  readonly kindsOf: (kinds: readonly PolicyKind[]) => Promise<PolicyKind[]>;
  /** One policy for each API whose server is away. */
  readonly unseenPolicies: () => Promise<Policy[]>;
}

export function createDiscovery(
  connection: Pick<Connection, 'request'>,
  all: readonly PolicyKind[],
  now: () => Millis,
): Discovery {
  const discovered = createSharedAnswers(() => discoverKinds(connection, all), { entries: 1, now });

  return {
    async kindsOf(kinds) {
      const { served } = await discover();
      return served.filter((kind) => kinds.includes(kind));
    },
    async unseenPolicies() {
      const { away } = await discover();
      return away.map(({ apiVersion }) => awayPolicy(apiVersion));
    },
  };

  /** The server behind an APIService may be away for long: its policies are unknown then. Else there is no answer at all. */
  async function discover(): Promise<DiscoveredKinds> {
    const known = await discovered.get('', kindsAge);
    const { value } = known.value.away.length > 0 ? await discovered.get('', awayAge) : known;
    const failed = value.away.find(({ apiVersion, refusal }) => refusal.status < 500 || isOfKubernetes(apiVersion));
    if (failed === undefined) return value;
    throw new RefusedError(failed.refusal);
  }
}

function isOfKubernetes(apiVersion: string): boolean {
  return apiVersion.startsWith('networking.k8s.io/');
}
