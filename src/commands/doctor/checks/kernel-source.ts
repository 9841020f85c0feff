import { documentAt } from '../../../config/docs-url.ts';
import type { SourceSetting } from '../../../config/config.ts';
import type { Millis } from '../../../model/log-line.ts';
import type { Choice, KernelSource } from '../../../sources/auto.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import type { KernelLog } from '../kernel-log.ts';
import { sourceName } from './settings.ts';

/** Clocks of a node and of who stamps its log differ by less. */
const tolerable: Millis = 60_000;

/** A source of the kernel's lines, as it is set. */
export type KernelSetting =
  | Exclude<SourceSetting, { kind: 'auto' | 'kernel' | 'containers' | 'program' }>
  | { kind: 'auto' | 'kernel' };

/** Where a setting leads. */
export interface Located {
  setting: KernelSetting;
  source: KernelSource | { kind: 'journal'; directory: undefined } | undefined;
  /** For a person. */
  text: string;
  isCertain: boolean;
}

export interface LocateOptions {
  choose: () => Choice;
  findJournal: (directory: string | undefined) => { directory: string } | { reason: string };
}

export function locate(setting: KernelSetting, { choose, findJournal }: LocateOptions): Located {
  switch (setting.kind) {
    case 'auto': {
      const { source, isCertain, text } = choose();
      return { setting, source, isCertain, text: text.replaceAll('\n', ' ') };
    }
    case 'journal': {
      const found = findJournal(setting.directory);
      if ('reason' in found)
        return { setting, source: undefined, isCertain: true, text: `no journal can be read: ${found.reason}` };
      return {
        setting,
        source: { kind: 'journal', directory: found.directory },
        isCertain: true,
        text: found.directory,
      };
    }
    case 'file':
      return { setting, source: { kind: 'file', path: setting.path }, isCertain: true, text: setting.path };
    case 'kernel':
      return { setting, source: { kind: 'ring', path: '/dev/kmsg' }, isCertain: true, text: '/dev/kmsg' };
    default:
      return setting satisfies never;
  }
}

/** Whether the kernel's lines can be read there, and when the last ones came. `log` is undefined where there is nothing to read. */
export function checkKernelSource(
  located: Located,
  log: KernelLog | { reason: string } | undefined,
  present: Millis,
): Check {
  const { ok, problem, warning } = answersOf(`source ${sourceName(located.setting)}`);
  const { text, isCertain } = located;
  if (log === undefined) return problem(text, advice);
  if ('reason' in log) return problem(`${text}: cannot be read: ${log.reason}`, advice);
  if (log.lines === 0)
    return warning(
      `${text}: no line of the kernel is there`,
      "if the node's log daemon writes the kernel's lines elsewhere, name that file: SOURCES=file:PATH; else they come with the next one",
    );
  const { last, packets } = log;
  const drops = packets.filter(({ verdict }) => verdict === 'dropped' || verdict === 'rejected');
  const lastDrop = drops.at(-1)?.time;
  const finding = `${text}: last line ${when(last, present)}, last drop ${lastDrop === undefined ? 'none' : ago(lastDrop, present)} (of ${log.lines} ${log.lines === 1 ? 'line' : 'lines'} of the kernel${log.from === undefined ? '' : ` since ${when(log.from, present)}`})`;
  if (last !== undefined && last > present + tolerable)
    return warning(
      finding,
      'set TIME_ZONE to the zone of these time stamps, or set the clock right: such lines are counted as of the time when they are read',
    );
  return isCertain ? ok(finding) : warning(finding, advice);
}

const advice = `${documentAt('docs/sources.md')} has what each source needs: a journal and journalctl, a log file of the node's log daemon, or /dev/kmsg and a privileged container`;

function when(time: Millis | undefined, present: Millis): string {
  return time === undefined ? 'at an unknown time' : ago(time, present);
}
