/** Reads the saved objects of `--pods` and `--policies`, and asks their policies about drops. */
import { askedOf, type KnownPolicies, type PolicyFacts, policyFacts, policyVerdict } from '../../drops/drops.ts';
import type { EventText } from '../../events/events.ts';
import { readSnapshot, type Snapshot } from '../../kubernetes/snapshot.ts';
import type { Finding } from '../../model/finding.ts';
import type { Series } from '../../model/series.ts';
import { textOf } from '../../pipeline/pipeline.ts';
import type { Json } from '../../platform/json.ts';
import { printable } from '../../platform/printable.ts';
import { isCalico } from '../../policies/policies.ts';
import { UsageError } from '../options/command.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import { type Collector, evaluatorOf, type KnownObjects, WhyError } from '../why/known-objects.ts';
import { readSavedFiles } from '../why/saved-files.ts';

export interface ReplayPolicies {
  readonly messageOf: (series: Series) => EventText;
  /** Returns undefined if there are no policies, or they do not concern the packet. */
  readonly factsOn: (findings: readonly Finding[]) => PolicyFacts | undefined;
}

/** `collected`: what was read from `--pods`. Throws a `UsageError` if a file of `--policies` is wrong. */
export function createPolicies({ policies }: Pick<ReplayOptions, 'policies'>, collected: Collector): ReplayPolicies {
  const objects = readFiles(policies, collected);
  if (objects.policies.length === 0) {
    if (policies.length > 0)
      throw new UsageError(
        [`--policies ${policies.join(', ')}: has no network policy`],
        'kube-netfilter-tailer replay',
      );
    return { messageOf: (series) => textOf(series, {}), factsOn: () => undefined };
  }
  const { trace } = evaluatorOf(objects);
  const known: KnownPolicies = {
    pod: (namespace, name) => objects.pods.get(`${namespace}/${name}`),
    namespace: (name) => objects.namespaces.get(name),
    trace,
  };
  const hasCalico = objects.policies.some(({ ref }) => isCalico(ref));
  // Facts are cached by findings, because all packets of a flow have the same findings.
  const found = new WeakMap<readonly Finding[], PolicyFacts | 'nothing'>();
  return {
    messageOf(series) {
      const asked = askedOf(series);
      const answer = policyVerdict(asked, known, series.last);
      const isKnown = answer?.outcome !== 'admits' || !isOfUnsaved(asked);
      return textOf(series, { answer: isKnown ? answer : undefined });
    },
    factsOn(findings) {
      const facts = found.get(findings) ?? policyFacts(findings, () => known) ?? 'nothing';
      found.set(findings, facts);
      if (facts === 'nothing' || (facts.verdict === 'admitted' && findings.some(isOfUnsaved))) return undefined;
      return facts;
    },
  };

  /** Returns whether a policy of Calico that was not saved may have denied the packet. */
  function isOfUnsaved({ details }: Finding): boolean {
    return !hasCalico && details.kind === 'flow' && details.prefix.startsWith('calico-drop');
  }
}

function readFiles(files: readonly string[], collected: Collector): KnownObjects {
  try {
    return readSavedFiles(files, collected);
  } catch (error) {
    if (!(error instanceof WhyError)) throw error;
    throw new UsageError(
      error.problems.map((problem) => `--policies ${printable(problem)}`),
      'kube-netfilter-tailer replay',
    );
  }
}

const saveCommand = 'kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json';

/** Throws a `UsageError` if a file is wrong, because without the objects it is useless to read gigabytes of log. */
export function readSavedObjects(files: readonly string[], alsoTake: (document: Json) => number): Snapshot {
  const snapshot = readSnapshot(files, alsoTake);
  if (snapshot.unusable.length === 0) return snapshot;
  throw new UsageError(
    [...snapshot.unusable.map((reason) => `--pods ${reason}`), `nothing was read. For --pods: ${saveCommand}`],
    'kube-netfilter-tailer replay',
  );
}
