import type { ToInstant } from '../../log-formats/rfc3339.ts';
import type { OpenContent } from './content.ts';
import { createRotatedLog } from './rotated-log.ts';
import { createLiveLineReader } from '../envelopes/live-line.ts';
import { type Position, type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';

export interface FollowFileOptions {
  path: string;
  /** As in `createScanner`. */
  needles: readonly string[];
  /** `position` of an earlier source of this path. */
  saved: Position | undefined;
  /** Where to begin when there is no such position. A file that comes into being later is read from its start. */
  from: 'start' | 'end';
  listener: SourceListener;
  /** How stamps without a zone are read. Default: UTC. */
  zone?: ToInstant;
  timing?: Timing;
  openContent?: OpenContent;
}

/** Follows a syslog daemon's log file through rotation, truncation, deletion and restarts. Lines are numbered within
 * their file, from where reading began. */
export function createFollowFile(options: FollowFileOptions): Source {
  const { path, listener, zone, timing = systemTiming, ...rest } = options;
  const readLine = createLiveLineReader({ source: path, zone, wall: timing.wall });
  return createRotatedLog({
    ...rest,
    path,
    timing,
    onLine(text, number, cut) {
      const { line, origin } = readLine(text, number, cut);
      listener.onLine(line, origin);
    },
    onLost: listener.onLost,
    onNotice: listener.onNotice,
  });
}
