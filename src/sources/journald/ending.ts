import { reasonOf } from '../../platform/system-error.ts';
import type { Notice } from '../source.ts';
import type { Ending } from './journalctl.ts';

/** Says what a person should do about an end of journalctl. `lastError`: the last line of its error output. */
export function noticeOf(ending: Ending, lastError: string | undefined): Notice {
  if ('error' in ending) {
    if ((ending.error as NodeJS.ErrnoException).code === 'ENOENT')
      return failed(
        'this image has no journalctl. Use the image variant that has it, or SOURCES=kernel, or SOURCES=file:PATH',
      );
    return failed(`journalctl cannot be started: ${reasonOf(ending.error)}. ${retry}`);
  }
  const { code, signal } = ending;
  if (isOwnDoing(ending))
    return failed(
      `journalctl ended with code ${code}: ${lastError?.replace(/\.$/, '') ?? 'it did not say why'}${adviceOn(lastError)}. ${retry}`,
    );
  const how = signal === null ? 'ended' : `was ended by ${signal}`;
  return { level: 'warn', key: 'ended', text: `journalctl ${how} and is started again` };
}

/** It could not be started, or gave up; no other process has ended it. */
export function isOwnDoing(ending: Ending): boolean {
  return 'error' in ending || (ending.code !== null && ending.code !== 0);
}

const retry = 'It is tried again once a minute or more often';

function failed(why: string): Notice {
  return { level: 'error', key: 'failed', text: `The journal cannot be read: ${why}` };
}

function adviceOn(lastError = ''): string {
  if (/permission/i.test(lastError)) return ' (it takes root, or a group that may read the journal)';
  if (/No such file or directory/.test(lastError)) return " (is the node's journal mounted there?)";
  return '';
}
