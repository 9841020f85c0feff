/** `replay`: runs the whole pipeline over saved logs, in their own time. */
import { type CoreEvent, createRecorder, type WriteRequest } from '../../publish/events/events.ts';
import { felixOf } from '../../agent/kubernetes/snapshot.ts';
import { createPrefixTable } from '../../read/parsing/parsing.ts';
import { createPipeline, createStatistics } from '../../count/pipeline/pipeline.ts';
import { printable } from '../../base/platform/printable.ts';
import { createEndpointFinder } from '../../explain/resolving/resolving.ts';
import { createSeriesTable, type SeriesTable } from '../../count/series/series.ts';
import { InputError, openInput } from '../../read/sources/reading.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import { readSaved } from './policies.ts';
import type { runReport } from '../report/report.ts';
import type { Streams } from '../terminal.ts';
import { createReplayIncidents, openedIn, unrepeatedIn } from './incidents.ts';
import { chooseInputs, createScope, fromThen, type ReplayScope } from './inputs.ts';
import { otherCluster, summarise, unknownNode } from './summary.ts';
import { createGuessedTimes } from './guessed-times.ts';
import { createReadTotals, type LogTarget, noteUnread } from './log-target.ts';
import { readLog } from './read-log.ts';
import { createPacketOutput, rowRedaction } from './packets.ts';
import { writeResult } from './result.ts';

/** Resolves to the exit status. `printReport`: prints the page of `--output html`. */
export async function replay(
  options: ReplayOptions,
  streams: Streams,
  printReport?: typeof runReport,
): Promise<0 | 1 | 2> {
  const problems: string[] = [];
  const report = (problem: string): void => {
    problems.push(problem);
    streams.err(`kube-netfilter-tailer: ${printable(problem)}\n`);
  };
  const note = (text: string): void => {
    if (!options.quiet) streams.err(`${text}\n`);
  };
  const { snapshot, policies } = await readSaved(options, streams);
  const { objects } = snapshot;
  for (const problem of snapshot.problems) report(problem);
  const without = options.pods.length === 0 ? 'No --pods FILE is given' : `${options.pods.join(', ')}: has no Pods`;
  if (objects.pods.length === 0) note(`${without}, so no address is known to be a Pod's, and no Pod gets an Event.`);

  const endpoints = createEndpointFinder(objects);
  const statistics = createStatistics();
  const scope = createScope(options);
  const rowUses = { printReport, redact: rowRedaction(options, snapshot) };
  const packets = createPacketOutput(options, { ...scope, ...policies }, streams, rowUses);
  const writes: WriteRequest[] = [];
  const recorder = createRecorder({
    createTable: () => createSeriesTable(),
    messageOf: policies.messageOf,
    onWrite: options.writes ? (write) => writes.push(write) : undefined,
  });
  const incidents = createReplayIncidents({
    objects,
    endpoints,
    felixOf: (node) => felixOf(snapshot, node),
    recorder,
  });
  const read = createReadTotals();
  const guessed = createGuessedTimes(endpoints, options, packets.sink);
  const pipeline = createPipeline({
    prefixes: createPrefixTable(options.prefixes),
    endpoints,
    statistics,
    node: options.node,
    programsAnywhere: true,
    includeNoise: options.includeNoise,
    counts: incidents.countsOf,
    isByLines: true,
    nodeOfLog: incidents.nodeOfLog,
    judge: {
      judge: policies.judge,
      targetsOf: ({ namespace = '', name }, to, most) => incidents.chains.targetsOf(namespace, name, to, most),
      publishedTargetsOf: incidents.chains.publishedTargetsOf,
    },
    packets: guessed.sink,
    passedOver: (line) => noteUnread(read, line),
  });

  const counted = fromThen(pipeline, options.since, read);
  const isNode =
    endpoints.nodes.length === 0 ? undefined : (host: string): boolean => endpoints.nodeOfHost(host) !== undefined;
  await readLogs({ pipeline: counted, totals: read, streams, options, problem: report, isNode }, note, report);
  incidents.finish();
  recorder.finish();
  for (const problem of [otherCluster(options, endpoints, statistics), ...guessed.problems()])
    if (problem !== undefined) report(problem);

  const events = shownOf([...recorder.events.values()], scope, note);
  const shownWrites = writes.filter(({ event }) => scope.showsEvent(event));
  const now = writeResult(options, objects, events, shownWrites, streams.out);
  const status = await packets.finish(events);
  const totals = {
    ...read,
    unknownNode: unknownNode(options, objects, read.hosts),
    events: recorder.events.size,
    incidents: openedIn(incidents.all()),
    unrepeated: unrepeatedIn(incidents.all()),
    packetsPastLimits: pastLimits(recorder.tables()),
    now,
  };
  writeSummary(`\n${summarise(statistics, totals)}`, options, streams);
  return status || (problems.length > 0 ? 1 : 0);
}

function shownOf(
  all: readonly CoreEvent[],
  { showsEvent, text }: ReplayScope,
  note: (text: string) => void,
): CoreEvent[] {
  const events = all.filter(showsEvent);
  if (events.length === 0 && all.length > 0) note(`No Event is of ${text}, and ${all.length} are of other objects.`);
  return events;
}

function writeSummary(text: string, { quiet, output, writes }: ReplayOptions, { out, err }: Streams): void {
  if (quiet) return;
  const isForPeople = (output === 'table' || output === 'wide') && !writes;
  (isForPeople ? out : err)(text);
}

async function readLogs(
  target: LogTarget & { options: ReplayOptions; streams: Streams },
  note: (text: string) => void,
  report: (problem: string) => void,
): Promise<void> {
  const { totals, streams, options } = target;
  const { inputs, repeats } = await chooseInputs(options);
  for (const repeat of repeats) note(repeat);
  for (const { name, clock } of inputs) {
    try {
      const input = openInput(name, () => streams.stdin);
      await readLog(input, { ...clock, latest: options.now ?? input.modified ?? Date.now() }, target);
      totals.files++;
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      report(error.message);
    }
  }
}

function pastLimits(tables: readonly SeriesTable[]): { uncounted: number; overflowed: number } {
  const past = { uncounted: 0, overflowed: 0 };
  for (const { counts } of tables) {
    past.uncounted += counts.uncounted;
    past.overflowed += counts.overflowed;
  }
  return past;
}
