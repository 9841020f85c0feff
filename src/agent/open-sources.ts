import type { Config } from '../config.ts';
import type { LogLine, Millis } from '../model.ts';
import { needlesOfAll } from '../parsing/formats.ts';
import type { Pipeline } from '../pipeline.ts';
import { zoneTime } from '../sources/clock.ts';
import type { Origin } from '../sources/envelopes/envelope.ts';
import { createFollowFile } from '../sources/follow-file.ts';
import { createKernelRing } from '../sources/kernel-ring.ts';
import type { Loss, Notice, Position, Source, SourceListener } from '../sources/source.ts';

export interface OpenSourcesOptions {
  config: Pick<Config, 'sources' | 'timeZone'>;
  /** Where an earlier run had stopped, by name of the source. */
  positions: Readonly<Record<string, Position>>;
  /** No earlier run is known of: what was logged shortly before is news too. */
  first: boolean;
  pipeline: Pick<Pipeline, 'take' | 'lost'>;
  onNotice: (source: string, notice: Notice) => void;
  onLost: (source: string, loss: Loss) => void;
  now: () => Millis;
}

/** Of the kernel's ring buffer, how far back a first run looks. */
const firstReach: Millis = 600_000;

/** The logs that are to be read, each handing its lines to the pipeline; not started yet. */
export function openSources(options: OpenSourcesOptions): Source[] {
  const { config, positions, first, now } = options;
  return config.sources.map((setting) => {
    const name = setting.kind === 'kernel' ? '/dev/kmsg' : setting.path;
    const common = { saved: positions[name], listener: listenerOf(name, options), now };
    if (setting.kind === 'file')
      return createFollowFile({
        ...common,
        path: setting.path,
        needles: needlesOfAll,
        from: 'end',
        zone: config.timeZone === 'UTC' ? Date.UTC : zoneTime(config.timeZone),
      });
    return createKernelRing({ ...common, since: first ? now() - firstReach : now() });
  });
}

function listenerOf(name: string, { pipeline, onLost, onNotice, now }: OpenSourcesOptions): SourceListener {
  return {
    onLine: (line: LogLine, origin: Origin) => {
      const latest = now();
      // A line is read after it was written. A stamp from the future is read in the wrong zone, or from another clock.
      pipeline.take(line.time > latest ? { ...line, time: latest } : line, origin);
    },
    onLost(loss: Loss) {
      pipeline.lost(name, loss.unit === 'records' ? loss.count : undefined, loss.time);
      onLost(name, loss);
    },
    onNotice: (notice) => onNotice(name, notice),
  };
}
