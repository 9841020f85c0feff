import type { Millis } from '../../model/log-line.ts';
import { createRotatedLog } from '../tail/rotated-log.ts';
import { type Position, type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';
import type { CreateLog } from './container-log.ts';
import { createDiscovery } from './discovery.ts';
import { createOpenLogs, type OpenLogs } from './open-logs.ts';
import { type ContainerRule, createContainerMatcher, defaultRules } from './rules.ts';
import { createConditions } from './conditions.ts';
import { type Folders, folders as systemFolders } from './watched-folder.ts';

export interface ContainerLogsOptions {
  root?: string;
  rules?: readonly ContainerRule[];
  saved: Position | undefined;
  listener: SourceListener;
  /** The same as in `createRecordJoiner`. */
  timeout?: Millis;
  maxLogs?: number;
  createLog?: CreateLog;
  folders?: Folders;
  timing?: Timing;
}

export interface ContainerLogs extends Source {
  readonly logs: OpenLogs['logs'];
}

const lookInterval: Millis = 500;
/** After so many looks all folders are listed, even if they seem unchanged. */
const looksPerList = 20;

/**
 * Logs there at the very first start are read from their ends, all others from their starts; that of a container which was restarted
 * or deleted, to its end. Limit: a container that comes and goes between two looks (500 ms) is not seen. Never throws.
 */
export function createContainerLogs(options: ContainerLogsOptions): ContainerLogs {
  const { root = '/var/log/pods', rules = defaultRules, saved, listener, timeout, maxLogs = 256 } = options;
  const { createLog = createRotatedLog, folders = systemFolders, timing = systemTiming } = options;
  const discovery = createDiscovery({
    root,
    matcher: createContainerMatcher(rules),
    from: saved === undefined ? 'end' : 'start',
    folders,
  });
  const logs = createOpenLogs({
    root,
    saved: (saved?.['logs'] ?? {}) as Position,
    maxLogs,
    listener,
    log: { createLog, timeout, timing },
  });
  const conditions = createConditions({
    root,
    onNotice(notice) {
      if (state !== 'stopped') listener.onNotice(notice);
    },
  });

  let state: Source['state'] = 'waiting';
  let looks = 0;
  let hasListed = false;
  let cancel: (() => void) | undefined;

  return {
    name: 'containers',
    get state() {
      return state === 'stopped' ? state : stateNow();
    },
    get position() {
      return hasListed ? { logs: logs.position } : saved;
    },
    get counts() {
      return logs.counts;
    },
    get logs() {
      return logs.logs;
    },
    start: look,
    stop() {
      state = 'stopped';
      cancel?.();
      logs.stop();
    },
  };

  function look(): void {
    cancel = timing.schedule(look, lookInterval);
    const result = discovery.look(looks++ % looksPerList === 0);
    if (typeof result.root === 'string') hasListed = true;
    state = typeof result.root === 'object' ? 'failed' : 'waiting';
    conditions.publish(result, logs);
    if (typeof result.root === 'object') return;
    const unknown = result.root === 'missing' ? [`${root}/`] : result.unreadable.map(({ path }) => `${path}/`);
    logs.update(result.found, (key) => unknown.some((folder) => `${root}/${key}`.startsWith(folder)));
  }

  function stateNow(): Source['state'] {
    const states = new Set(logs.logs.map((log) => log.state));
    if (states.has('reading')) return 'reading';
    return states.has('failed') && !states.has('waiting') ? 'failed' : state;
  }
}
