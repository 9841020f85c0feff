import type { Millis } from '../../../base/model/log-line.ts';
import type { ContainerCounts } from '../records/container-records.ts';
import { type Notice, type Position, type Source, type SourceListener, type Timing, systemTiming } from '../source.ts';
import { readingAdviceOn } from '../tail/open-log.ts';
import { createRotatedLog } from '../tail/rotated-log.ts';
import type { FolderNames } from './folder-names.ts';
import { type ContainerRule, createLogFinder, defaultRules, type LogSearch } from './find-logs.ts';
import { type CreateLog, createOpenLogs, type OpenLogs } from './open-logs.ts';

export interface ContainerLogsOptions {
  root?: string;
  rules?: readonly ContainerRule[];
  saved: Position | undefined;
  listener: SourceListener;
  /** As in `createRecordJoiner`. */
  timeout?: Millis;
  maxLogs?: number;
  createLog?: CreateLog;
  folders?: FolderNames;
  timing?: Timing;
}

const lookInterval: Millis = 500;

/**
 * Follows the logs of the containers that match `rules`. Logs that are found at the very first start are read from their ends, and all
 * others from their starts. The log of a restarted or deleted container is read to its end. A container that exists only between two scans
 * (500 ms) is missed. Never throws.
 */
export function createContainerLogs(options: ContainerLogsOptions): Source {
  const { root = '/var/log/pods', rules = defaultRules, saved, listener, timeout, maxLogs = 256 } = options;
  const { createLog = createRotatedLog, folders, timing = systemTiming } = options;
  const find = createLogFinder(root, rules, folders);
  const logs = createOpenLogs({
    root,
    saved: (saved?.['logs'] ?? {}) as Position,
    maxLogs,
    listener,
    log: { createLog, timeout, timing },
  });
  const conditions = createConditions(root, (notice) => {
    if (state !== 'stopped') listener.notice(notice);
  });

  let state: Source['state'] = 'waiting';
  let hasListed = false;
  let from: 'start' | 'end' = saved === undefined ? 'end' : 'start';
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
    start: look,
    stop() {
      state = 'stopped';
      cancel?.();
      logs.stop();
    },
  };

  function look(): void {
    cancel = timing.schedule(look, lookInterval);
    const result = find();
    state = typeof result.root === 'object' ? 'failed' : 'waiting';
    conditions.publish(result, logs);
    if (typeof result.root === 'object') return;
    hasListed = true;
    const unknown = result.root === 'missing' ? [`${root}/`] : result.unreadable.map(({ path }) => `${path}/`);
    logs.update(result.found, from, (key) => unknown.some((folder) => `${root}/${key}`.startsWith(folder)));
    from = 'start';
  }

  function stateNow(): Source['state'] {
    const states = new Set(logs.logs.map((log) => log.state));
    if (states.has('reading')) return 'reading';
    return states.has('failed') && !states.has('waiting') ? 'failed' : state;
  }
}

const costs: { [Count in keyof ContainerCounts]: string } = {
  unreadable: 'has lines that are not as container runtimes write them; they are taken as they are',
  cut: 'has a record longer than 64 KiB: the rest is skipped',
  dangling: 'has a line whose end did not come in time: it is taken without',
};

/** Reports problems of folders and logs, each only once while it lasts. */
function createConditions(root: string, notify: SourceListener['notice']) {
  const published = new Map<string, string>();

  return {
    publish(look: LogSearch, logs: Pick<OpenLogs, 'logs' | 'kept'>): void {
      publishRoot(look);
      publishFolders(look);
      publishCosts(logs.logs);
      const { kept } = logs;
      if (kept === 0) published.delete('too-many');
      else if (!published.has('too-many'))
        publishNew('too-many', {
          level: 'warn',
          key: 'too-many',
          text: `${kept} or more container logs in ${root} are not read, because ${logs.logs.length} are: let the rules match fewer`,
        });
    },
  };

  function publishRoot({ root: state, found, unreadable }: LogSearch): void {
    if (typeof state === 'object') {
      const text = `${root} cannot be read: ${readingAdviceOn(state.error)}. It is tried again twice a second`;
      return publishNew('root', { level: 'error', key: 'failed', text });
    }
    if (state === 'missing') {
      const text = `${root} is not there; it is read as soon as it is. In a Pod, mount it from the node (hostPath)`;
      return publishNew('root', { level: 'warn', key: 'missing', text });
    }
    if (found.size === 0 && unreadable.length === 0) {
      const text = `${root} has no log of a container that matches; it is read as soon as there is one`;
      return publishNew('root', { level: 'info', key: 'no-match', text });
    }
    if (published.delete('root')) notify({ level: 'info', key: 'well', text: `${root} is read now` });
  }

  function publishFolders({ unreadable }: LogSearch): void {
    const paths = new Set(unreadable.map(({ path }) => path));
    for (const about of published.keys()) if (about.startsWith('/') && !paths.has(about)) published.delete(about);
    for (const { path, error } of unreadable)
      publishNew(path, {
        level: 'error',
        key: 'unreadable',
        text: `${path} cannot be read: ${readingAdviceOn(error)}. It is tried again twice a second; the others are read`,
      });
  }

  function publishCosts(logs: OpenLogs['logs']): void {
    for (const [count, text] of Object.entries(costs) as [keyof ContainerCounts, string][]) {
      if (published.has(count)) continue;
      const log = logs.find(({ recordCounts }) => recordCounts[count] > 0);
      if (log)
        publishNew(count, { level: 'warn', key: count, text: `${log.path} ${text}. Further ones are only counted` });
    }
  }

  function publishNew(about: string, notice: Notice): void {
    if (published.get(about) === notice.text) return;
    published.set(about, notice.text);
    notify(notice);
  }
}
