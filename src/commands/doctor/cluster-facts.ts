/** Asks whether the API server answers, how Calico is configured, and how Pods of other nodes are found. Nothing here rejects. */
import type { Config } from '../../config/config.ts';
import { createDirectoryFinder } from '../../directory/directory.ts';
import {
  type Answer,
  countAll,
  createFelixReader,
  createPodFinders,
  type PodRanges,
} from '../../kubernetes/kubernetes.ts';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import { createSteadyClock } from '../../platform/clock.ts';
import { at, type Json, text } from '../../platform/json.ts';
import { indexPodRanges, type Node, type Pod, statesOf } from '../../resolving/resolving.ts';
import type { Api, Asked, Looked } from './api.ts';

export interface VersionAnswer extends Pick<Api, 'server' | 'unusable' | 'clockSkew'> {
  answer: Answer;
  took: Millis;
}

export async function askVersion(api: Api, now: () => Millis): Promise<VersionAnswer> {
  const started = now();
  const answer = await api.request('GET', '/version');
  const { server, unusable, clockSkew } = api;
  return { server, unusable, clockSkew, answer, took: Math.round(now() - started) };
}

export interface FelixLook {
  felix: NonNullable<NodeFacts['felix']>;
  /** The prefix that is set for this node; undefined if none is. */
  logPrefix: string | undefined;
  /** Whether Felix sends its flows to a socket of the node: `Enabled`, `Disabled`, or undefined if it is not set. */
  flows: string | undefined;
}

/** Reads FelixConfiguration as the agent does, and with the same answers what else the checks look at: a setting of the node goes before the default. */
export async function lookAtFelix({ request }: Asked, node: string): Promise<FelixLook> {
  const specs: { default?: Json; node?: Json } = {};
  const reader = createFelixReader({
    node,
    // It is read once.
    now: () => 0,
    connection: {
      async request(verb, path, options) {
        const answer = await request(verb, path, options);
        if (answer.kind === 'answered') specs[path.endsWith('/default') ? 'default' : 'node'] = at(answer.body, 'spec');
        return answer;
      },
    },
  });
  const felix = await reader.read();
  const setting = (name: string): string | undefined => text(at(specs.node, name)) ?? text(at(specs.default, name));
  return { felix, logPrefix: setting('logPrefix'), flows: setting('flowLogsLocalReporter') };
}

export interface Neighbours {
  api: Asked & Pick<Api, 'unusable'>;
  config: Pick<Config, 'node' | 'podCache' | 'podLookups' | 'maxNodes' | 'directory'>;
  ownNode: Promise<Looked<Node> | undefined>;
  pods: Promise<readonly Pod[] | undefined>;
}

export type Ways = Awaited<ReturnType<typeof statesOf>>;

/** Finds which ways to look up Pods of other nodes lead anywhere. Undefined if none is set or needed, or no API server is known. */
export async function lookAtWays(neighbours: Neighbours): Promise<Ways | undefined> {
  const { api, config } = neighbours;
  if (config.podCache === 'cluster' || config.podLookups.length === 0 || api.unusable !== undefined) return undefined;
  const clock = createSteadyClock();
  const finders = createPodFinders({
    ways: config.podLookups,
    connection: api,
    ranges: await lookAtRanges(neighbours),
    directory: createDirectoryFinder({ folder: config.directory, clock, random: Math.random }),
    clock,
  });
  return await statesOf(finders);
}

/** Judges podCIDR by this Node and its Pods, as the agent would. */
async function lookAtRanges({ api, config, ownNode, pods }: Neighbours): Promise<PodRanges> {
  const { node, maxNodes } = config;
  if (node === '') return { homeOf: () => undefined, followed: () => false, describe: () => 'this Node is not known' };
  const [answer, here, count] = await Promise.all([
    ownNode,
    pods,
    countAll(api, '/api/v1/nodes').catch(() => undefined),
  ]);
  const own = answer?.kind === 'answered' ? answer.found : undefined;
  const homeOf = indexPodRanges(own === undefined ? [] : [own]);
  const addresses = (here ?? []).flatMap((pod) => (pod.hostNetwork ? [] : pod.addresses.slice(0, 1)));
  const isOther = addresses.length > 0 && !addresses.some((address) => homeOf(address) === node);
  const why = whyNot();
  return { homeOf, followed: () => why === undefined, describe: () => why ?? `podCIDR of ${count} Nodes` };

  function whyNot(): string | undefined {
    if (own === undefined || own.podRanges.length === 0) return 'this Node has no podCIDR';
    if (count === undefined || count > maxNodes)
      return `${count ?? 'an unknown number of'} Nodes, which are not watched (maxNodes ${maxNodes})`;
    return isOther ? 'the network plugin gives addresses of other ranges than podCIDR' : undefined;
  }
}
