/** The whole pipeline over saved logs, in the logs' own time. */
import { packetRow } from '../../audit/record.ts';
import { createRecorder, type Write } from '../../events/recorder.ts';
import { felixOf } from '../../kubernetes/snapshot.ts';
import { createPrefixTable } from '../../parsing/netfilter/prefixes.ts';
import { createPipeline } from '../../pipeline/pipeline.ts';
import { createStatistics } from '../../pipeline/statistics.ts';
import { printable } from '../../platform/printable.ts';
import { createDirectory } from '../../resolving/directory.ts';
import { createSeriesTable, type SeriesTable } from '../../series/table.ts';
import { InputError, openInput } from '../../sources/framing/input.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import { readSavedObjects } from '../saved-objects.ts';
import type { Streams } from '../streams.ts';
import { createReplayIncidents } from './incidents.ts';
import { chooseInputs } from './inputs.ts';
import { otherCluster, unknownNode } from './mismatch.ts';
import { createMessages } from './policies.ts';
import { createReadTotals, type LogTarget, readLog } from './read-log.ts';
import { writeResult } from './result.ts';
import { summarise } from './summary.ts';

/** Returns the exit status. */
export async function replay(options: ReplayOptions, streams: Streams): Promise<0 | 1> {
  const problems: string[] = [];
  const report = (problem: string): void => {
    problems.push(problem);
    streams.err(`${printable(problem)}\n`);
  };
  const note = (text: string): void => {
    if (!options.quiet) streams.err(`${text}\n`);
  };
  const snapshot = readSavedObjects(options.pods);
  const messageOf = createMessages(options);
  const { objects } = snapshot;
  for (const problem of snapshot.problems) report(problem);
  const without = options.pods.length === 0 ? 'No --pods FILE is given' : `${options.pods.join(', ')}: has no Pods`;
  if (objects.pods.length === 0) note(`${without}, so no address can be given to a Pod, and no Pod gets an Event.`);

  const directory = createDirectory(objects);
  const statistics = createStatistics();
  const writes: Write[] = [];
  const recorder = createRecorder({
    createTable: () => createSeriesTable(),
    messageOf,
    onWrite: options.writes ? (write) => writes.push(write) : undefined,
  });
  const incidents = createReplayIncidents({
    objects,
    directory,
    felixOf: (node) => felixOf(snapshot, node),
    series: recorder.series,
    advance: recorder.advance,
    nextDue: (node) => recorder.series(node).nextDue(),
  });
  const pipeline = createPipeline({
    prefixes: createPrefixTable(options.prefixes),
    directory,
    statistics,
    node: options.node,
    programsAnywhere: true,
    includeNoise: options.includeNoise,
    advance: incidents.advance,
    quietUntil: incidents.quietUntil,
    series: recorder.series,
    incidents: incidents.of,
    nodeOfLog: incidents.nodeOfLog,
    everyLine: options.output === 'audit',
    onDrop:
      options.output === 'audit'
        ? ({ line, observation, meaning }) => streams.out(packetRow(line, { observation, ...meaning }))
        : undefined,
  });

  const read = createReadTotals();
  await readLogs({ pipeline, totals: read, streams, options }, note, report);
  incidents.finish();
  recorder.finish();
  const mismatch = otherCluster(options, directory, statistics);
  if (mismatch !== undefined) report(mismatch);

  const now = writeResult(options, objects, [...recorder.events.values()], writes, streams.out);
  if (!options.quiet) {
    const summary = summarise(statistics, {
      ...read,
      unknownNode: unknownNode(options, objects, read.hosts),
      events: recorder.events.size,
      incidents: incidents.opened(),
      unrepeated: incidents.unrepeated(),
      packetsPastLimits: pastLimits(recorder.tables()),
      now,
    });
    // Output for machines is not mixed with a summary for people.
    const toPeople = options.output === 'table' && !options.writes ? streams.out : streams.err;
    toPeople(`\n${summary}`);
  }
  return problems.length > 0 ? 1 : 0;
}

async function readLogs(
  target: LogTarget & { options: ReplayOptions; streams: Streams },
  note: (text: string) => void,
  report: (problem: string) => void,
): Promise<void> {
  const { totals, streams, options } = target;
  for (const { name, clock } of await chooseInputs(options, note)) {
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
