import { readingAdviceOn } from '../tail/open-log.ts';
import type { Notice, SourceListener } from '../source.ts';
import type { Look } from './discovery.ts';
import type { OpenLogs } from './open-logs.ts';
import type { ContainerCounts } from '../records/container-records.ts';

/** Said once; further ones are only counted. */
const costs: { [Count in keyof ContainerCounts]: string } = {
  unreadable: 'has lines that are not as container runtimes write them; they are taken as they are',
  cut: 'has a record longer than 64 KiB: what is beyond that is passed over',
  dangling: 'has a line whose end did not come in time: it is taken without',
  hurried: 'had more than 1,000 records or 256 KiB waiting for an earlier one to end: that is taken as far as it came',
};

/** Says what is wrong with folders and with what is in the logs, each thing once as long as it lasts. */
export function createTroubles({ root, onNotice }: { root: string; onNotice: SourceListener['onNotice'] }): {
  tell: (look: Look, logs: Pick<OpenLogs, 'logs' | 'kept'>) => void;
} {
  /** Texts by what they are about. */
  const told = new Map<string, string>();

  return {
    tell(look, logs) {
      tellOfRoot(look);
      tellOfFolders(look);
      tellOfCosts(logs.logs);
      const { kept } = logs;
      if (kept === 0) told.delete('too-many');
      else
        tellOnce('too-many', {
          level: 'warn',
          key: 'too-many',
          text: `${kept} or more container logs in ${root} are not read, because ${logs.logs.length} are: let the rules match fewer`,
        });
    },
  };

  function tellOfRoot({ root: state, found, unreadable }: Look): void {
    if (typeof state === 'object') {
      const text = `${root} cannot be read: ${readingAdviceOn(state.error)}. It is tried again twice a second`;
      return tell('root', { level: 'error', key: 'failed', text });
    }
    if (state === 'missing') {
      const text = `${root} is not there; it is read as soon as it is. In a Pod, mount it from the node (hostPath)`;
      return tell('root', { level: 'warn', key: 'missing', text });
    }
    if (found.size === 0 && unreadable.length === 0) {
      const text = `${root} has no log of a container that matches; it is read as soon as there is one`;
      return tell('root', { level: 'info', key: 'no-match', text });
    }
    if (told.delete('root')) onNotice({ level: 'info', key: 'well', text: `${root} is read now` });
  }

  function tellOfFolders({ unreadable }: Look): void {
    const paths = new Set(unreadable.map(({ path }) => path));
    for (const about of told.keys()) if (about.startsWith('/') && !paths.has(about)) told.delete(about);
    for (const { path, error } of unreadable)
      tell(path, {
        level: 'error',
        key: 'unreadable',
        text: `${path} cannot be read: ${readingAdviceOn(error)}. It is tried again twice a second; the others are read`,
      });
  }

  function tellOfCosts(logs: OpenLogs['logs']): void {
    for (const [count, text] of Object.entries(costs) as [keyof ContainerCounts, string][]) {
      if (told.has(count)) continue;
      const log = logs.find(({ recordCounts }) => recordCounts[count] > 0);
      if (log) tell(count, { level: 'warn', key: count, text: `${log.path} ${text}. Further ones are only counted` });
    }
  }

  function tellOnce(about: string, notice: Notice): void {
    if (!told.has(about)) tell(about, notice);
  }

  function tell(about: string, notice: Notice): void {
    if (told.get(about) === notice.text) return;
    told.set(about, notice.text);
    onNotice(notice);
  }
}
