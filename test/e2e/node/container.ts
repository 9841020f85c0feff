import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from './machine.ts';
import { now } from './pod-status.ts';

export interface RunningContainer {
  /** As the runtime names it. */
  readonly id: string;
  /** Begins a command that is run within it. */
  readonly exec: readonly string[];
  readonly startedAt: string;
  /** Resolves when commands can be run within it, or it has ended. */
  readonly started: Promise<void>;
  readonly exit: Promise<number>;
  /** Signals it to end, and ends it when it has not after that time. */
  readonly end: (graceSeconds: number) => Promise<void>;
}

/**
 * Runs a container by crun, in the machine's namespaces; what it prints goes to `log` in the format of container runtimes
 * (https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md). It has no cgroup of its own, so that
 * nothing of it is left outside the machine.
 */
export function runContainer(
  machine: Machine,
  id: string,
  folder: string,
  config: object,
  log: string,
): RunningContainer {
  const bundle = join(folder, id);
  mkdirSync(bundle, { recursive: true });
  mkdirSync(dirname(log), { recursive: true });
  const mark = join(bundle, 'started');
  // https://github.com/opencontainers/runtime-spec/blob/main/config.md#posix-platform-hooks
  const hooks = { poststart: [{ path: '/bin/sh', args: ['sh', '-c', ': > "$1"', 'sh', mark] }] };
  writeFileSync(join(bundle, 'config.json'), JSON.stringify({ ...config, hooks }));
  writeFileSync(log, '', { flag: 'a' });
  const crun = ['crun', '--root', join(folder, 'crun'), '--cgroup-manager=disabled'];
  const made = watch(bundle);
  const child = machine.start([...crun, 'run', '--bundle', bundle, id]);
  child.stdin?.end();
  for (const stream of ['stdout', 'stderr'] as const)
    createInterface(child[stream] as NodeJS.ReadableStream).on('line', (line) =>
      appendFileSync(log, `${nanoseconds()} ${stream} F ${line}\n`),
    );
  const exit = once(child, 'close').then(([code]) => (code as number | null) ?? -1);
  const marked = new Promise<void>((resolve) => made.on('change', () => existsSync(mark) && resolve()));
  const started = Promise.race([marked, exit]).then(() => made.close());
  // It may have ended by itself.
  const kill = (signal: string): Promise<unknown> => machine.run([...crun, 'kill', id, signal]);
  return {
    id,
    exec: [...crun, 'exec', id],
    startedAt: now(),
    started,
    exit,
    async end(graceSeconds) {
      // Until then there is nothing that could be signalled.
      await started;
      await kill('TERM');
      const late = new AbortController();
      await Promise.race([exit, delay(graceSeconds * 1000, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
      await kill('KILL');
      await exit;
    },
  };
}

// Nine digits; the clock here has six.
function nanoseconds(): string {
  const time = performance.timeOrigin + performance.now();
  const micros = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace('Z', `${String(micros).padStart(3, '0')}000Z`);
}
