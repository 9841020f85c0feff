/** `why`: whether policies admit a connection, and by which rule. */
import type { WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../terminal.ts';
import { paintTerminal } from '../terminal.ts';
import { findFlow } from './find-end.ts';
import { readObjects, withStatus } from './inputs.ts';
import { evaluatorOf } from './known-objects.ts';
import { jsonAnswer, outcomeOf, type Paint, textAnswer } from './report.ts';

const statuses = { admits: 0, denies: 1, unknown: 3 } as const;
const colours = { admits: 'green', denies: 'red', unknown: 'yellow' } as const;

const paint: Paint = (outcome, text) => paintTerminal(colours[outcome], text);

/** Resolves to the exit status. */
export async function why(options: WhyOptions, streams: Pick<Streams, 'out' | 'err'>): Promise<number> {
  return await withStatus(streams, async () => {
    const objects = await readObjects(options, false, streams.err);
    const flow = findFlow(options, objects);
    const { trace } = evaluatorOf(objects);
    const answer = { flow, ingress: trace(flow, 'ingress'), egress: trace(flow, 'egress') };
    const text = options.output === 'json' ? jsonAnswer(answer) : textAnswer(answer, paint);
    return { status: statuses[outcomeOf(answer)], text };
  });
}
