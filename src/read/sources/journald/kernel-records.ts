import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Millis } from '../../../base/model/log-line.ts';

/** One record, as short as can be. */
const options = ['--quiet', '--no-pager', '--merge', '--lines=1', '--output=cat', '--output-fields=_TRANSPORT'];
/** journalctl finds a record by its index, but the files may be on a slow disk. */
const patience: Millis = 10_000;

/**
 * Returns whether the journal has a record of the kernel of this boot; undefined if that is unknown. In containers that are nodes
 * (kind), and where `ReadKMsg=no` is set, journald does not read the kernel's log.
 */
export function hasKernelRecords(directory: string, bootId = bootOfThisKernel()): boolean | undefined {
  if (bootId === undefined) return undefined;
  const { status, stdout } = spawnSync(
    'journalctl',
    [...options, `--directory=${directory}`, '_TRANSPORT=kernel', `_BOOT_ID=${bootId}`],
    { timeout: patience, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return status === 0 ? stdout.trim() !== '' : undefined;
}

function bootOfThisKernel(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().replaceAll('-', '');
  } catch {
    return undefined;
  }
}
