import { type Config, searchPath, type SourceSetting } from './config/config.ts';
import type { Millis } from '../base/model/log-line.ts';
import type { Clock } from '../base/platform/clock.ts';
import { type Schedule, schedule as systemSchedule } from '../base/platform/timer.ts';
import { knownTexts, needlesOfAll, spellingsOf } from '../read/parsing/parsing.ts';
import { programNeedles } from '../explain/incidents/incidents.ts';
import type { Pipeline } from '../count/pipeline/pipeline.ts';
import { zoneTime } from '../read/sources/reading.ts';
import {
  type KernelChoice,
  pickKernelSource,
  chooseKernelSource,
  type ConfiguredKernelSource,
  createBpfTrace,
  createCalicoFlows,
  createContainerLogs,
  createFollowFile,
  createFollowProgram,
  createJournal,
  createKernelDrops,
  createKernelRing,
  defaultFlowsFolder,
  defaultTracefs,
  findJournal,
  hasKernelRecords,
  findProgramLogs,
  type JsonValue,
  type Position,
  type ProgramLog,
  type Repeats,
  type Source,
  type SourceListener,
  createSharedLines,
  type SharedLines,
} from '../read/sources/sources.ts';
import type { Problems } from './problems.ts';

export interface OpenSourcesOptions {
  config: Pick<Config, 'sources' | 'timeZone' | 'containers' | 'podLogs' | 'units'>;
  positions: Readonly<Record<string, Position>>;
  /** Records of programs that only some of the sources have shown so far. */
  once: JsonValue | undefined;
  /** Whether there was no earlier run, so that recent lines are also read. */
  first: boolean;
  pipeline: Pick<Pipeline, 'take' | 'lost' | 'repeats'>;
  problems: Pick<Problems, 'source' | 'lost'>;
  clock: Clock;
  schedule?: Schedule;
  logs?: Pick<typeof nodeLogs, 'choose' | 'pickSource' | 'findPrograms'>;
}

/** Looks for logs on this node. `doctor` looks in the same way. */
export const nodeLogs = {
  choose: (): KernelChoice => chooseKernelSource({ journal, kernelRecords: hasKernelRecords }),
  pickSource: <Each extends ConfiguredKernelSource>(sources: readonly Each[]): Each | undefined =>
    pickKernelSource(sources, { journal, kernelRecords: hasKernelRecords }),
  findPrograms: (): readonly ProgramLog[] => findProgramLogs(),
  findJournal: journal,
};

function journal(directory?: string): ReturnType<typeof findJournal> {
  return findJournal({ searchPath: searchPath(), ...(directory !== undefined && { directories: [directory] }) });
}

type OpenableSetting =
  | Exclude<SourceSetting, { kind: 'auto' | 'kernel' | 'containers' }>
  | { kind: 'kernel' | 'containers' };

type KernelSetting = Extract<OpenableSetting, { kind: 'kernel' | 'journal' | 'file' }>;

/** A collector may write the file as JSON. */
const fileNeedles = spellingsOf(needlesOfAll);

/** How far back the first run reads the ring buffer and the journal. */
const firstReach: Millis = 600_000;

/** Makes the sources, without starting them. */
export function openSources(options: OpenSourcesOptions): { sources: Source[]; dedupe: SharedLines['dedupe'] } {
  const { config, positions, first } = options;
  const { wall } = options.clock;
  const { logs = nodeLogs, schedule = systemSchedule } = options;
  const found = findSources(options, logs);
  const kernelSource = logs.pickSource(
    found.filter(
      (setting): setting is KernelSetting =>
        setting.kind === 'kernel' || setting.kind === 'journal' || setting.kind === 'file',
    ),
  );
  const shared = createSharedLines({
    kernelSource: kernelSource && nameOf(kernelSource),
    // Some programs write to standard error and to a file, and only then a record may come twice.
    programSources: found.some(({ kind }) => kind === 'program')
      ? found.filter(({ kind }) => kind === 'containers' || kind === 'program' || kind === 'journal').map(nameOf)
      : [],
    saved: options.once,
    now: options.clock.now,
  });
  // Repeats may be counted without parsing only if every line of the source counts. If there are two logs, ulogd's lines count from only one.
  const hasRepeats = found.filter(({ kind }) => kind === 'file' || kind === 'journal').length < 2;
  const zone = zoneTime(config.timeZone);
  const since = first ? wall() - firstReach : wall();

  const sources = found.map((setting): Source => {
    const name = nameOf(setting);
    const common = {
      saved: positions[name],
      listener: listenerOf(setting, setting === kernelSource, hasRepeats, shared, options),
      timing: { ...options.clock, schedule },
    };
    switch (setting.kind) {
      case 'file':
        return createFollowFile({
          ...common,
          path: setting.path,
          needles: fileNeedles,
          known: knownTexts,
          from: 'end',
          zone,
        });
      case 'program': {
        const { path, program } = setting;
        return createFollowProgram({ ...common, path, program, needles: programNeedles, from: 'end', zone });
      }
      case 'journal': {
        const { directory } = setting;
        const units = { names: config.units, needles: programNeedles };
        return createJournal({ ...common, ...(directory && { directory }), needles: needlesOfAll, units, since });
      }
      case 'containers':
        return createContainerLogs({ ...common, root: config.podLogs, rules: config.containers });
      case 'bpf-trace':
        return createBpfTrace({ ...common, tracefs: setting.directory ?? defaultTracefs });
      case 'kernel-drops':
        return createKernelDrops({ ...common, tracefs: setting.directory ?? defaultTracefs });
      case 'calico-flows':
        return createCalicoFlows({ ...common, folder: setting.directory ?? defaultFlowsFolder });
      case 'kernel':
        return createKernelRing({ ...common, since });
      default:
        return setting satisfies never;
    }
  });
  return { sources, dedupe: shared.dedupe };
}

function nameOf(setting: OpenableSetting): string {
  if (setting.kind === 'file' || setting.kind === 'program') return setting.path;
  return setting.kind === 'kernel' ? '/dev/kmsg' : setting.kind;
}

function findSources(
  { config, problems }: OpenSourcesOptions,
  { choose, findPrograms }: Pick<typeof nodeLogs, 'choose' | 'findPrograms'>,
): OpenableSetting[] {
  const found = config.sources.map((setting): OpenableSetting => {
    if (setting.kind !== 'auto') return setting as OpenableSetting;
    const { source, isCertain, text } = choose();
    const level = source === undefined ? 'error' : isCertain ? 'info' : 'warn';
    problems.source('auto', { level, key: 'chosen', text: `${text.charAt(0).toUpperCase()}${text.slice(1)}` });
    // If nothing can be read now, the device is tried again later.
    return source === undefined || source.kind === 'ring' ? { kind: 'kernel' } : source;
  });
  if (config.sources.some(({ kind }) => kind === 'auto')) {
    for (const { program, path } of findPrograms()) {
      if (found.some((other) => nameOf(other) === path)) continue;
      found.push({ kind: 'program', program, path });
      problems.source('auto', {
        level: 'info',
        key: `program ${program}`,
        text: `Reading the log of ${program} from ${path}`,
      });
    }
  }
  // A setting may name the same file that was found.
  return found.filter((each, index) => found.findIndex((other) => nameOf(other) === nameOf(each)) === index);
}

function listenerOf(
  setting: OpenableSetting,
  givesKernel: boolean,
  hasRepeats: boolean,
  shared: SharedLines,
  { pipeline, problems, clock }: OpenSourcesOptions,
): SourceListener {
  const name = nameOf(setting);
  const { repeats } = pipeline;
  // Losses in a ring buffer do not matter if its packets are not counted.
  const mayLosePackets = givesKernel || setting.kind !== 'kernel';
  return {
    take(line, origin) {
      if (!shared.isFirstSeen(name, line, origin)) return;
      const time = timeOf(line.time);
      pipeline.take(time === line.time ? line : { ...line, time }, origin);
    },
    repeats: repeats !== undefined && givesKernel && hasRepeats ? byClock(repeats, clock) : undefined,
    lost(loss) {
      const { count, unit, time, since = time, of } = loss;
      if (mayLosePackets) pipeline.lost(name, unit === 'records' ? count : undefined, timeOf(time), timeOf(since), of);
      problems.lost(name, loss);
    },
    notice: (notice) => problems.source(name, notice),
  };

  /** Converts a stamp to the agent's clock, and limits it to the present, because one from the future has a wrong zone or clock. */
  function timeOf(stamp: Millis): Millis {
    return Math.min(clock.fromWall(stamp), clock.now());
  }
}

/** Converts times as `timeOf` does, but reads the clocks only once in a turn of the event loop. */
function byClock(repeats: Repeats, clock: Clock): Repeats {
  let read: { ahead: Millis; now: Millis } | undefined;
  return {
    last: repeats.last,
    again(repeat, stamp) {
      read ??= { ahead: -clock.fromWall(0), now: clock.now() };
      return repeats.again(repeat, Math.min(stamp - read.ahead, read.now));
    },
    flush() {
      read = undefined;
      repeats.flush();
    },
  };
}
