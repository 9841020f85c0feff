/** `--policies`: what saved policies say of drops. */
import { policyFacts, type PolicyFacts } from '../../drops/policy-facts.ts';
import { askedOf, type KnownPolicies } from '../../drops/policy-trace.ts';
import { policyVerdict } from '../../drops/policy-verdict.ts';
import type { EventText } from '../../events/event.ts';
import type { Finding } from '../../model/finding.ts';
import type { Series } from '../../model/series.ts';
import { textOf } from '../../pipeline/message.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import { UsageError } from '../options/usage-error.ts';
import { evaluatorOf } from '../why/known-objects.ts';
import { FileError, readSavedFiles } from '../why/saved-files.ts';

export interface ReplayPolicies {
  /** What an Event says. */
  readonly messageOf: (series: Series) => EventText;
  /** What a row of the audit says; undefined where policies have no part in the packet, or are not given. */
  readonly factsOn: (findings: readonly Finding[]) => PolicyFacts | undefined;
}

/** Throws a `UsageError` where a file of `--policies` is not what it should be. */
export function createPolicies(options: Pick<ReplayOptions, 'pods' | 'policies'>): ReplayPolicies {
  const known = readPolicies(options);
  if (known === undefined) return { messageOf: (series) => textOf(series, {}), factsOn: () => undefined };
  // Packets of one flow have the same findings.
  const found = new WeakMap<readonly Finding[], PolicyFacts | 'nothing'>();
  return {
    messageOf: (series) => textOf(series, { answer: policyVerdict(askedOf(series), known, series.last) }),
    factsOn(findings) {
      const facts = found.get(findings) ?? policyFacts(findings, () => known) ?? 'nothing';
      found.set(findings, facts);
      return facts === 'nothing' ? undefined : facts;
    },
  };
}

/** Labels of Pods and Namespaces may stand in the files of `--pods`. Standard input can be read only once. */
function readPolicies({ pods, policies }: Pick<ReplayOptions, 'pods' | 'policies'>): KnownPolicies | undefined {
  if (policies.length === 0) return undefined;
  const objects = readFiles([...pods.filter((file) => file !== '-'), ...policies]);
  if (objects.policies.size === 0)
    throw new UsageError([`--policies ${policies.join(', ')}: has no network policy`], 'replay');
  const { trace } = evaluatorOf(objects);
  return {
    pod: (namespace, name) => objects.pods.get(`${namespace}/${name}`),
    namespace: (name) => objects.namespaces.get(name),
    trace,
  };
}

function readFiles(files: readonly string[]): ReturnType<typeof readSavedFiles> {
  try {
    return readSavedFiles(files);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new UsageError([`--policies ${error.message}`], 'replay');
  }
}
