import type { Streams } from '../streams.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import { type RunTotals, summarise } from './summary.ts';
import { writeResult } from './result.ts';
import { readSavedObjects } from '../saved-objects.ts';
import { messageOf } from '../../pipeline/message.ts';
import { felixOf } from '../../kubernetes/snapshot.ts';
import { createPrefixTable } from '../../parsing/netfilter/prefixes.ts';
import { createPipeline, type Pipeline } from '../../pipeline/pipeline.ts';
import { createReplayIncidents, type ReplayIncidents } from './incidents.ts';
import { chooseInputs } from './inputs.ts';
import { readLog } from './read-log.ts';
import { strangeNode } from './unknown-node.ts';
import { printable } from '../../platform/printable.ts';
import { auditRow } from '../../audit/row.ts';
import { createRecorder, type Recorder, type Write } from '../../events/recorder.ts';
import { createDirectory, type Directory } from '../../resolving/directory.ts';
import { createSeriesTable, type SeriesTable } from '../../series/table.ts';
import { InputError, openInput } from '../../sources/framing/input.ts';
import { createStatistics, type Statistics } from '../../pipeline/statistics.ts';

/** The whole pipeline over saved logs, in the logs' own time. Returns the exit status. */
export async function replay(options: ReplayOptions, streams: Streams): Promise<0 | 1> {
  const problems: string[] = [];
  const complain = (problem: string): void => {
    problems.push(problem);
    streams.err(`${printable(problem)}\n`);
  };
  const snapshot = readSavedObjects(options.pods);
  for (const problem of snapshot.problems) complain(problem);
  const note = (text: string): void => {
    if (!options.quiet) streams.err(`${text}\n`);
  };
  const without = options.pods.length === 0 ? 'No --pods FILE is given' : `${options.pods.join(', ')}: has no Pods`;
  if (snapshot.objects.pods.length === 0)
    note(`${without}, so no address can be given to a Pod, and no Pod gets an Event.`);
  const directory = createDirectory(snapshot.objects);
  const statistics = createStatistics();
  const writes: Write[] = [];
  const recorder = createRecorder({
    createTable: () => createSeriesTable(),
    messageOf,
    onWrite: options.writes ? (write) => writes.push(write) : undefined,
  });
  const incidents = createReplayIncidents({
    objects: snapshot.objects,
    directory,
    felixOf: (node) => felixOf(snapshot, node),
    series: recorder.series,
    advance: recorder.advance,
  });
  const pipeline = connect(options, directory, statistics, recorder, incidents, streams);

  const totals: RunTotals = {
    files: 0,
    lines: 0,
    bytes: 0,
    tooLong: 0,
    hosts: new Set(),
    strangeNode: undefined,
    guessedTimes: 0,
    events: 0,
    incidents: 0,
    unrepeated: {},
    packetsPastLimits: { uncounted: 0, overflowed: 0 },
    now: undefined,
  };
  for (const { name, clock } of await chooseInputs(options, note)) {
    try {
      const input = openInput(name, () => streams.stdin);
      await readLog(
        input,
        { ...clock, latest: options.now ?? input.modified ?? Date.now() },
        pipeline,
        totals,
        streams,
        options,
      );
      totals.files++;
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      complain(error.message);
    }
  }
  incidents.finish();
  recorder.finish();
  totals.incidents = incidents.opened();
  totals.unrepeated = incidents.unrepeated();
  totals.events = recorder.events.size;
  totals.packetsPastLimits = pastLimits(recorder.tables());
  totals.strangeNode = strangeNode(options.node, snapshot.objects, totals.hosts);
  const stranger = ofAnotherCluster(options, directory, statistics);
  if (stranger !== undefined) complain(stranger);

  totals.now = writeResult(options, snapshot.objects, [...recorder.events.values()], writes, streams.out);
  if (!options.quiet) {
    // Beside output for machines, people's goes elsewhere.
    const toPeople = options.output === 'table' && !options.writes ? streams.out : streams.err;
    toPeople(`\n${summarise(statistics, totals)}`);
  }
  return problems.length > 0 ? 1 : 0;
}

function connect(
  options: ReplayOptions,
  directory: Directory,
  statistics: Statistics,
  recorder: Recorder<SeriesTable>,
  incidents: ReplayIncidents,
  streams: Streams,
): Pipeline {
  return createPipeline({
    prefixes: createPrefixTable(options.prefixes),
    directory,
    statistics,
    node: options.node,
    programsAnywhere: true,
    includeNoise: options.includeNoise,
    advance: incidents.advance,
    series: recorder.series,
    incidents: incidents.of,
    nodeOfLog: incidents.nodeOfLog,
    onDrop: options.output === 'audit' ? (...drop) => streams.out(auditRow(...drop)) : undefined,
  });
}

function pastLimits(tables: SeriesTable[]): RunTotals['packetsPastLimits'] {
  const past = { uncounted: 0, overflowed: 0 };
  for (const { counts } of tables) {
    past.uncounted += counts.uncounted;
    past.overflowed += counts.overflowed;
  }
  return past;
}

/** Interfaces of Pods were seen, and not one is a Pod of the saved objects: they are of another cluster. */
function ofAnotherCluster(
  options: ReplayOptions,
  directory: Directory,
  { podInterfaces }: Statistics,
): string | undefined {
  if (options.pods.length === 0 || directory.podCount === 0 || podInterfaces.seen === 0 || podInterfaces.known > 0)
    return undefined;
  return (
    `${options.pods.join(', ')}: none of its Pods (${directory.podCount}) owns any of the interfaces in the logs (${podInterfaces.seen} lines name one): ` +
    'it is of another cluster, or of another time. Addresses may be given to the wrong Pods.'
  );
}
