import { documentAt } from '../../../config/docs-url.ts';
import type { Config } from '../../../config/config.ts';
import { createDirectoryFinder } from '../../../directory/client.ts';
import { countAll } from '../../../kubernetes/paged-list.ts';
import { createPodFinders, type PodRanges } from '../../../kubernetes/pod-finders.ts';
import { createSteadyClock } from '../../../platform/clock.ts';
import type { Node, Pod } from '../../../resolving/objects.ts';
import { indexPodRanges } from '../../../resolving/scope.ts';
import { statesOf } from '../../../resolving/lookups/pod-finder.ts';
import { type Api, seeApiServer } from '../api.ts';
import type { Looked } from '../cluster-look.ts';
import { answersOf, type Check } from '../check.ts';

const { ok, unknown, warning } = answersOf('pod-lookups');

export interface PodLookupsLook {
  api: Pick<Api, 'request' | 'unusable'>;
  config: Pick<Config, 'node' | 'podCache' | 'podLookups' | 'maxNodes' | 'directory'>;
  ownNode: () => Promise<Looked<Node>>;
  pods: () => Promise<readonly Pod[] | undefined>;
}

/** Which ways to look up Pods of other nodes are taken here, and why the others are not. */
export async function checkPodLookups(look: PodLookupsLook): Promise<Check> {
  const { api, config } = look;
  if (config.podCache === 'cluster') return ok('not needed: all Pods are watched');
  if (config.podLookups.length === 0) return ok('off: addresses of other nodes stay addresses');
  if (api.unusable !== undefined) return unknown('not known: the API server does not answer', seeApiServer);
  const clock = createSteadyClock();
  const finders = createPodFinders({
    ways: config.podLookups,
    connection: api,
    ranges: await lookAtRanges(look),
    directory: createDirectoryFinder({ folder: config.directory, clock, random: Math.random }),
    clock,
  });
  const states = await statesOf(finders);
  const textOf = (usable: boolean): string[] =>
    states.flatMap((state) => (state.usable === usable ? `${state.way} (${state.why})` : []));
  const [used, unused] = [textOf(true), textOf(false)];
  const others = unused.length === 0 ? '' : `; not: ${unused.join('; ')}`;
  if (used.length > 0) return ok(`by ${used.join(', then ')}${others}`);
  return warning(
    `Pods of other nodes are not found by their addresses${others}`,
    `${documentAt('docs/lookups.md')} has a way for each kind of cluster`,
  );
}

/** As the agent would see them, from this Node and its Pods. */
async function lookAtRanges({ api, config: { node, maxNodes }, ownNode, pods }: PodLookupsLook): Promise<PodRanges> {
  if (node === '') return { homeOf: () => undefined, followed: () => false, describe: () => 'this Node is not known' };
  const [answer, here, count] = await Promise.all([
    ownNode(),
    pods(),
    countAll(api, '/api/v1/nodes').catch(() => undefined),
  ]);
  const own = answer.kind === 'answered' ? answer.found : undefined;
  const homeOf = indexPodRanges(own === undefined ? [] : [own]);
  const addresses = (here ?? []).flatMap((pod) => (pod.hostNetwork ? [] : pod.addresses.slice(0, 1)));
  const isOther = addresses.length > 0 && !addresses.some((address) => homeOf(address) === node);
  const isWatched = count !== undefined && count <= maxNodes;
  const why = whyNot();
  return { homeOf, followed: () => why === undefined, describe: () => why ?? `podCIDR of ${count} Nodes` };

  function whyNot(): string | undefined {
    if (own === undefined || own.podRanges.length === 0) return 'this Node has no podCIDR';
    if (!isWatched) return `${count ?? 'an unknown number of'} Nodes, which are not watched (maxNodes ${maxNodes})`;
    return isOther ? 'the network plugin gives addresses of other ranges than podCIDR' : undefined;
  }
}
