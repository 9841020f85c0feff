/** Reads the saved objects of `--pods` and `--policies`, and asks their policies about drops. */
import {
  askedOf,
  foundAnswer,
  type KnownPolicies,
  policyAnswer,
  policyFacts,
  policyVerdict,
} from '../../explain/drops/drops.ts';
import type { EventText } from '../../publish/events/events.ts';
import { collectSnapshot, type Snapshot } from '../../agent/kubernetes/snapshot.ts';
import type { Finding } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PolicyAnswer, PolicyFacts } from '../../base/model/policy-answer.ts';
import type { Series } from '../../base/model/series.ts';
import { textOfSeries } from '../../count/pipeline/pipeline.ts';
import { printable } from '../../base/platform/printable.ts';
import { isCalico } from '../../explain/policies/policies.ts';
import { UsageError } from '../options/command.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { Streams } from '../terminal.ts';
import { collectObjects, type Collector, evaluatorOf, type KnownObjects, WhyError } from '../why/known-objects.ts';
import { readSavedFiles } from '../why/saved-files.ts';
import { readSavedObjects, type SavedObjectsOptions, type TakeObject } from './saved-objects.ts';

export interface ReplayPolicies {
  readonly messageOf: (series: Series) => EventText;
  /** `at`: the time of the drop. */
  readonly judge: (finding: Finding, at: Millis) => PolicyAnswer | undefined;
  /** Returns undefined if there are no policies, if they do not concern the packet, or if an unsaved policy of Calico may have denied it. */
  readonly factsOn: (findings: readonly Finding[]) => PolicyFacts | undefined;
}

/** Rejects with a `UsageError` if a file is wrong, because reading gigabytes of logs without the objects is useless. */
export async function readSaved(
  { pods, policies, quiet }: Pick<ReplayOptions, 'pods' | 'policies' | 'quiet'>,
  { stdin, terminal }: Pick<Streams, 'stdin' | 'terminal'>,
): Promise<{ snapshot: Snapshot; policies: ReplayPolicies }> {
  const collected = collectObjects();
  const options = { stdin: () => stdin, terminal: quiet ? undefined : terminal };
  return { snapshot: await readPods(pods, collected, options), policies: createPolicies(policies, collected) };
}

function createPolicies(policies: readonly string[], collected: Collector): ReplayPolicies {
  const objects = readFiles(policies, collected);
  if (objects.policies.length === 0) {
    if (policies.length > 0) throw usageError([`--policies ${policies.join(', ')}: has no network policy`]);
    return { messageOf: (series) => textOfSeries(series, {}), judge: () => undefined, factsOn: () => undefined };
  }
  const { trace } = evaluatorOf(objects);
  const known: KnownPolicies = {
    pod: (namespace, name) => objects.pods.get(`${namespace}/${name}`),
    namespace: (name) => objects.namespaces.get(name),
    trace,
  };
  const hasCalico = objects.policies.some(({ ref }) => isCalico(ref));
  // All packets of a flow have the same findings.
  const cached = new WeakMap<readonly Finding[], PolicyFacts | 'nothing'>();
  return {
    messageOf(series) {
      const asked = askedOf(series);
      const answer = foundAnswer(asked)?.verdict ?? policyVerdict(asked, known, series.last);
      const isKnown = answer?.outcome !== 'admits' || !isOfUnsaved(asked);
      return textOfSeries(series, { answer: isKnown ? answer : undefined });
    },
    judge: (finding, at) => policyAnswer(finding, known, at),
    factsOn(findings) {
      const facts =
        foundAnswer(findings[0])?.facts ?? cached.get(findings) ?? policyFacts(findings, () => known) ?? 'nothing';
      cached.set(findings, facts);
      if (facts === 'nothing' || (facts.verdict === 'admitted' && findings.some(isOfUnsaved))) return undefined;
      return facts;
    },
  };

  /** Returns whether an unsaved policy of Calico may have denied the packet. */
  function isOfUnsaved({ details }: Finding): boolean {
    return !hasCalico && details.kind === 'flow' && details.prefix.startsWith('calico-drop');
  }
}

function readFiles(files: readonly string[], collected: Collector): KnownObjects {
  try {
    return readSavedFiles(files, collected);
  } catch (error) {
    if (!(error instanceof WhyError)) throw error;
    throw usageError(error.problems.map((problem) => `--policies ${printable(problem)}`));
  }
}

function usageError(problems: readonly string[]): UsageError {
  return new UsageError(problems, 'kube-netfilter-tailer replay');
}

const saveCommand = 'kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json';

const usedKinds = 'Pod, Node, Service, EndpointSlice, Namespace, NetworkPolicy or FelixConfiguration';

async function readPods(files: readonly string[], { add }: Collector, options: SavedObjectsOptions): Promise<Snapshot> {
  const { snapshot, take } = collectSnapshot();
  const unusable: string[] = [];
  for (const file of files) {
    try {
      let used = 0;
      const takeObject: TakeObject = (object, place) => {
        const isTaken = take(object, place);
        used += Math.max(Number(isTaken), add(object));
      };
      await readSavedObjects(file, takeObject, options);
      if (used === 0) unusable.push(`${file}: has no ${usedKinds}`);
    } catch (error) {
      if (!(error instanceof WhyError)) throw error;
      unusable.push(...error.problems);
    }
  }
  if (unusable.length === 0) return snapshot;
  throw usageError([
    ...unusable.map((reason) => `--pods ${printable(reason)}`),
    `nothing was read. For --pods: ${saveCommand}`,
  ]);
}
