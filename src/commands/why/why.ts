/** `why`: whether policies admit a connection, and by which rule. */
import { styleText } from 'node:util';
import { createEvaluator, createPolicySet } from '../../policies/policies.ts';
import { printable } from '../../platform/printable.ts';
import type { WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../streams.ts';
import { findFlow } from './find-end.ts';
import type { KnownObjects } from './known-objects.ts';
import { type Answer, jsonAnswer, outcomeOf, type Paint, textAnswer } from './report.ts';
import { readSavedFiles } from './saved-files.ts';

const statuses = { admits: 0, denies: 1, unknown: 3 } as const;
const colours = { admits: 'green', denies: 'red', unknown: 'yellow' } as const;

/** Colours only where standard output is a terminal that has them, and NO_COLOR is not set. */
const paint: Paint = (outcome, text) => styleText(colours[outcome], text, { stream: process.stdout });

/** Resolves to the exit status. */
export async function why(options: WhyOptions, { out, err }: Pick<Streams, 'out' | 'err'>): Promise<number> {
  try {
    const answer = answerOf(options, await readObjects(options));
    out(options.output === 'json' ? jsonAnswer(answer) : textAnswer(answer, paint));
    return statuses[outcomeOf(answer)];
  } catch (error) {
    if (!(error instanceof Error) || !expected.has(error.name)) throw error;
    err(`kube-netfilter-tailer: ${printable(error.message)}\n`);
    return 2;
  }
}

/** Errors of what was given, not of the program. */
const expected: ReadonlySet<string> = new Set(['FileError', 'EndError', 'ClusterError']);

async function readObjects(options: WhyOptions): Promise<KnownObjects> {
  if (options.files.length > 0) return readSavedFiles(options.files);
  // The client library is not needed for files.
  const { readCluster } = await import('./cluster.ts');
  return await readCluster(options);
}

function answerOf(options: WhyOptions, objects: KnownObjects): Answer {
  const flow = findFlow(options, objects);
  const { trace } = createEvaluator({
    policies: createPolicySet(objects.policies.values()),
    namespaces: objects.namespaces.values(),
  });
  return { flow, ingress: trace(flow, 'ingress'), egress: trace(flow, 'egress') };
}
