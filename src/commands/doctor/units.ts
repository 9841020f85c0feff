import type { RunProgram } from './program.ts';

export interface UnitsLookOptions {
  run: RunProgram;
  /** Of the journal; undefined: this machine's. */
  directory: string | undefined;
  /** `k3s.service` */
  names: readonly string[];
}

/** Which of the units have records in the journal, for a person; undefined where that cannot be seen. Never rejects. */
export async function lookAtUnits({ run, directory, names }: UnitsLookOptions): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  const place = directory === undefined ? [] : [`--directory=${directory}`];
  const ran = await run('journalctl', ['--quiet', '--no-pager', ...place, '--field=_SYSTEMD_UNIT']);
  if (ran.kind !== 'done') return undefined;
  const there = new Set(ran.output.split('\n'));
  const found = names.filter((name) => there.has(name));
  return found.length === 0 ? 'no records of UNITS' : `records of ${found.join(', ')}`;
}
