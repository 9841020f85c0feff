/** `why`: says whether policies admit a connection, and by which rule, as text with each clause or as JSON. */
import { reasonOf } from '../../base/platform/system-error.ts';
import { printable } from '../../base/platform/printable.ts';
import type { ConnectionVerdict, PolicyFlow, RuleTrace, Trace } from '../../explain/policies/policies.ts';
import { programName } from '../options/command.ts';
import type { WhyOptions } from '../options/why-options.ts';
import { jsonText, type Streams, writeUnlessClosed } from '../terminal.ts';
import { type AskedConnection, type AskedConnections, findConnections } from './connections.ts';
import { claimNotes, endText, tunnelNotes } from './ends.ts';
import { evaluatorOf, type KnownObjects, WhyError } from './known-objects.ts';
import { readSavedFiles } from './saved-files.ts';
import { directionLines, shownClauses, shownRules } from './trace-text.ts';

const statuses = { admits: 0, denies: 1, unknown: 3 } as const;

/** `program`: what the user typed, for messages. Resolves to the exit status: 0 admitted, 1 denied, 2 wrong input, 3 unknown. */
export async function why(
  options: WhyOptions,
  streams: Pick<Streams, 'out' | 'err'>,
  program = programName,
): Promise<number> {
  return await withVerdict(streams, program, async (tell) => {
    const { objects, connections } = await readQuestion(options, false, tell);
    const { trace } = evaluatorOf(objects);
    const answers = inGroups(
      connections.map(({ flow, because }) => {
        const [ingress, egress] = [trace(flow, 'ingress'), trace(flow, 'egress')];
        return { flow, because, ingress, egress, outcome: outcomeOf(ingress.verdict, egress.verdict) };
      }),
    );
    const outcome = worstOf(answers.map(([first]) => first.outcome));
    const text = options.output === 'json' ? jsonAnswer(answers, outcome) : answers.map(textAnswer).join('\n');
    return { status: statuses[outcome], text };
  });
}

interface Answer extends AskedConnection {
  readonly ingress: Trace;
  readonly egress: Trace;
  readonly outcome: ConnectionVerdict['outcome'];
}

/** Connections that are decided in the same way; the first stands for all. */
type Group = readonly [Answer, ...Answer[]];

/** Groups the answers for the Pods behind a Service, the worst first. */
function inGroups(answers: readonly Answer[]): Group[] {
  const groups = Map.groupBy(answers, ({ flow, because, ingress, egress }) =>
    JSON.stringify([endText(flow.source), flow.port, because, ingress.verdict, egress.verdict]),
  );
  return ([...groups.values()] as [Answer, ...Answer[]][]).toSorted(
    ([a], [b]) => order.indexOf(a.outcome) - order.indexOf(b.outcome),
  );
}

const order = ['denies', 'unknown', 'admits'] as const;

function worstOf(outcomes: readonly ConnectionVerdict['outcome'][]): ConnectionVerdict['outcome'] {
  return order.find((each) => outcomes.includes(each)) ?? 'admits';
}

export function outcomeOf(...verdicts: readonly ConnectionVerdict[]): ConnectionVerdict['outcome'] {
  return worstOf(verdicts.map(({ outcome }) => outcome));
}

/** `others`: the connections of the other groups, and of other Pods of the first. */
function jsonAnswer(answers: readonly Group[], outcome: ConnectionVerdict['outcome']): string {
  const [first, ...rest] = answers.flat() as [Answer, ...Answer[]];
  const others = rest.map(({ flow, because = null, outcome: own }) =>
    Object.assign({ outcome: own }, jsonFlow(flow), { because }),
  );
  const object = {
    outcome,
    ...jsonFlow(first.flow),
    because: first.because ?? null,
    ingress: jsonTrace(first.ingress),
    egress: jsonTrace(first.egress),
    others,
  };
  return jsonText(object, 2);
}

function jsonFlow({ source, destination, protocol, port }: PolicyFlow): object {
  return { from: endText(source), to: endText(destination), protocol, port: port ?? null };
}

function jsonTrace({ verdict, policies, selectingCount, nearest, staged }: Trace): object {
  const closest = nearest === undefined ? null : { policy: nearest.policy, rule: nearest.rule.path };
  const ifEnforced = staged === undefined ? null : { ...jsonVerdict(staged.verdict), policies: staged.policies };
  const shown = policies.map((traced) => {
    const { policy, tier, selects, selector, ruleCount } = traced;
    return {
      policy,
      tier,
      selects,
      selector,
      ruleCount,
      rules: shownRules(traced, { verdict, nearest }).map(jsonRule),
    };
  });
  return { ...jsonVerdict(verdict), selecting: selectingCount, nearest: closest, staged: ifEnforced, policies: shown };
}

function jsonRule({ path, action, match, groups }: RuleTrace): object {
  return { path, action, match, groups: groups.map((group) => shownClauses(group)) };
}

function jsonVerdict({ outcome, reason, decision, tier, missing }: ConnectionVerdict): object {
  return { outcome, reason, decision: decision ?? null, tier: tier ?? null, missing };
}

function textAnswer([answer, ...same]: Group): string {
  const { flow, because, ingress, egress } = answer;
  const { source, destination, protocol, port } = flow;
  const title = `${endText(source)} → ${endText(destination)} ${protocol}${port === undefined ? '' : ` ${port}`}`;
  const names = same.slice(0, mostNamed).map((each) => endText(each.flow.destination));
  const more = same.length - names.length;
  const lines = [
    because === undefined ? title : `${title} (${printable(because)})`,
    ...(same.length === 0 ? [] : [`the same to ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`]),
    '',
    ...directionLines(`ingress of ${endText(destination)}`, ingress),
    '',
    ...directionLines(`egress of ${endText(source)}`, egress),
  ];
  return `${lines.join('\n')}\n`;
}

const mostNamed = 8;

/** Writes a line of standard error, which begins with the name of the program. */
export type Tell = (line: string) => void;

export interface Question extends Pick<AskedConnections, 'connections'> {
  readonly objects: KnownObjects;
}

/** Reads the objects, and finds the connections that are asked about. Prints notes on both. `wholeNamespaces`: as in `readCluster`. */
export async function readQuestion(options: WhyOptions, wholeNamespaces: boolean, tell: Tell): Promise<Question> {
  const objects = await readObjects(options, wholeNamespaces, tell);
  const { connections, notes } = findConnections(options, objects);
  const { flow } = connections[0];
  writeNotes([...notes, ...tunnelNotes(flow, objects), ...claimNotes(flow, objects)], tell);
  return { objects, connections };
}

async function readObjects(options: WhyOptions, wholeNamespaces: boolean, tell: Tell): Promise<KnownObjects> {
  if (options.files.length > 0) {
    const objects = readSavedFiles(options.files);
    writeNotes(objects.notes, tell);
    // Without policies everything is admitted. The user probably forgot to save them.
    if (objects.policies.length === 0) writeNotes(['the files have no network policy'], tell);
    return objects;
  }
  // Loaded on demand, because saved files do not need the client library.
  const { readCluster } = await import('./cluster.ts');
  return await readCluster(options, wholeNamespaces);
}

function writeNotes(notes: readonly string[], tell: Tell): void {
  for (const note of notes) tell(`note: ${note}`);
}

/** Resolves to the exit status of the command, or to 2 if the input is wrong or the output cannot be written. */
export async function withVerdict(
  { out, err }: Pick<Streams, 'out' | 'err'>,
  program: string,
  command: (tell: Tell) => Promise<{ status: number; text: string }>,
): Promise<number> {
  const tell: Tell = (line) => err(`${program}: ${printable(line)}\n`);
  try {
    const { status, text } = await command(tell);
    writeUnlessClosed(out, text);
    return status;
  } catch (error) {
    const isWrite = (error as NodeJS.ErrnoException).syscall === 'write';
    const written = isWrite ? [`the output cannot be written: ${reasonOf(error)}`] : undefined;
    const problems = error instanceof WhyError ? error.problems : written;
    if (problems === undefined) throw error;
    for (const problem of problems) tell(problem);
    return 2;
  }
}
