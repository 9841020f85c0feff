import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Millis } from '../../src/base/model/log-line.ts';
import type { LiveFile } from './live-file.ts';

export const styles = ['create', 'kubelet', 'copytruncate', 'delete', 'symlink', 'none'] as const;
export type Style = (typeof styles)[number];

export interface Step {
  /** The time since the previous step. */
  after: Millis;
  act: () => void;
}

export interface RotationOptions {
  style: Style;
  path: string;
  /** For how long the writer still writes to the old file. */
  lag: Millis;
  /** The number of rotated files. */
  keep: number;
  /** Ends a line that was begun. Between the steps of a rotation, writing continues, even in the middle of a line. */
  endLine: () => void;
}

/** Where the first file of a log is, because `path` may only point to it. */
export function firstFile(style: Style, path: string): string {
  if (style !== 'symlink') return path;
  const file = stamped(path, 0);
  symlinkSync(basename(file), path);
  return file;
}

/** Plans the steps of one rotation, the `number`th, counted from 1. */
export function planRotation(options: RotationOptions, number: number, live: LiveFile): Step[] {
  const { style, path, lag, keep, endLine } = options;
  const switchOver: Step = {
    after: lag,
    act() {
      endLine();
      live.switchOver();
    },
  };
  const plans: Record<Style, Step[]> = {
    create: [{ after: 0, act: renameAndCreate }, switchOver],
    kubelet: [{ after: 0, act: compressAndRename }, { after: lag / 2, act: () => live.createNext(path) }, switchOver],
    copytruncate: [{ after: 0, act: copyAndTruncate }],
    delete: [{ after: 0, act: deleteAndCreate }, switchOver],
    symlink: [{ after: 0, act: createAndLink }, switchOver],
    none: [],
  };
  return plans[style];

  /** logrotate(8) with `create`: a moment later the writer gets a signal to reopen the file. */
  function renameAndCreate(): void {
    shift();
    renameSync(path, `${path}.1`);
    live.createNext(path);
  }

  /** logrotate(8) with `copytruncate`. Nothing is written between the two steps, because it would be lost. */
  function copyAndTruncate(): void {
    endLine();
    shift();
    copyFileSync(path, `${path}.1`);
    live.truncate();
  }

  function shift(): void {
    for (let age = keep; age >= 1; age--)
      if (existsSync(`${path}.${age}`)) renameSync(`${path}.${age}`, `${path}.${age + 1}`);
    if (existsSync(`${path}.${keep + 1}`)) unlinkSync(`${path}.${keep + 1}`);
  }

  /** Kubernetes, pkg/kubelet/logs/container_log_manager.go, in this order. The runtime makes the new file. */
  function compressAndRename(): void {
    dropOldest();
    for (const name of rotated().filter((each) => !each.endsWith('.gz'))) {
      const file = join(dirname(path), name);
      writeFileSync(`${file}.tmp`, gzipSync(readFileSync(file), { level: 1 }));
      renameSync(`${file}.tmp`, `${file}.gz`);
      unlinkSync(file);
    }
    renameSync(path, stamped(path, number));
  }

  function deleteAndCreate(): void {
    unlinkSync(path);
    live.createNext(path);
  }

  /** Like Apache's `rotatelogs -L`: each file has its own name from the start, and a link points to the newest. */
  function createAndLink(): void {
    const file = stamped(path, number);
    const link = join(dirname(path), '.next');
    live.createNext(file);
    symlinkSync(basename(file), link);
    renameSync(link, path);
    dropOldest();
  }

  function dropOldest(): void {
    const names = rotated();
    for (const name of names.slice(0, Math.max(0, names.length - keep))) unlinkSync(join(dirname(path), name));
  }

  /** Oldest first, because their names contain times. */
  function rotated(): string[] {
    const prefix = `${basename(path)}.`;
    return readdirSync(dirname(path))
      .filter((name) => name.startsWith(prefix))
      .toSorted();
  }
}

/**
 * Names files as the kubelet does, one second apart for each rotation, so that several rotations within a second have
 * different names.
 */
function stamped(path: string, number: number): string {
  const time = new Date(Date.UTC(2026, 10, 21, 12) + number * 1000).toISOString();
  return `${path}.${time.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}`;
}
