import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { interfaceNames } from '../../../src/resolving/interface-name.ts';
import type { Connection } from '../control-plane/connection.ts';
import { mountsOf, variablesOf } from './container-setup.ts';
import { runContainer, type RunningContainer } from './container.ts';
import type { Image } from './image.ts';
import type { Machine } from './machine.ts';
import { ociConfig } from './oci.ts';
import type { Container, Pod } from './pod-object.ts';
import { type ContainerState, now } from './pod-status.ts';
import { createReporter } from './pod-reporter.ts';
import { probe } from './probes.ts';

/** As kubelets do after a crash: 10 s, then twice as long each time, 5 minutes at most. */
const BACK_OFF_MS = 10_000;
const LONGEST_BACK_OFF_MS = 300_000;

export interface RunnerOptions {
  readonly connection: Connection;
  readonly machine: Machine;
  /** Of the node, for what is kept of Pods. */
  readonly folder: string;
  readonly image: (reference: string) => Image | undefined;
  /** Variables of every container, as a kubelet adds them. */
  readonly serviceEnv: Readonly<Record<string, string>>;
  /** An address that no other Pod has. */
  readonly takeAddress: () => string;
  /** Called when a container is started, and when it has ended, for `kubectl logs` and `kubectl exec`. */
  readonly describe: (id: string, description: object) => void;
}

export interface PodRunner {
  /** Ends it with its grace period, or sooner; resolves when nothing of it runs. */
  readonly stop: (graceSeconds: number) => Promise<void>;
}

/** Runs one Pod from its start to its end, and keeps its status up to date. */
export function runPod(pod: Pod, options: RunnerOptions): PodRunner {
  const { connection, machine } = options;
  const { namespace, name, uid } = pod.metadata;
  const folder = join(options.folder, 'pods', uid);
  const reporter = createReporter(connection, pod, machine);
  const { say, write } = reporter;
  const ending = new AbortController();
  const running = new Set<RunningContainer>();
  let address = '';
  let network: string | undefined;

  const done = run().catch((error: unknown) => {
    if (!ending.signal.aborted) process.stderr.write(`[node] Pod ${namespace}/${name}: ${String(error)}\n`);
  });
  return {
    async stop(graceSeconds) {
      ending.abort();
      await Promise.all([...running].map((each) => each.end(graceSeconds)));
      await done;
      await reporter.written();
    },
  };

  async function run(): Promise<void> {
    mkdirSync(folder, { recursive: true });
    if ((pod.spec.initContainers ?? []).length > 0) throw new Error('init containers are not run here');
    if (pod.spec.hostNetwork === true) address = machine.address;
    else {
      address = options.takeAddress();
      const [device = ''] = interfaceNames(namespace, name);
      network = await machine.addNetwork(device, address);
    }
    reporter.hasAddress(address);
    await Promise.all(
      pod.spec.containers.map((each, index) => keepRunning(each, reporter.states[index] as ContainerState)),
    );
  }

  async function keepRunning(container: Container, state: ContainerState): Promise<void> {
    const { restartPolicy = 'Always' } = pod.spec;
    for (let wait = BACK_OFF_MS; !ending.signal.aborted; wait = Math.min(wait * 2, LONGEST_BACK_OFF_MS)) {
      const start = await prepare(container, state);
      if (start !== undefined) {
        const code = await watch(container, state, start());
        const isDone = restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && code === 0);
        if (isDone || ending.signal.aborted) return;
        const message = `back-off ${wait / 1000}s restarting failed container`;
        state.state = { waiting: { reason: 'CrashLoopBackOff', message } };
        state.restarts += 1;
        await say('Warning', 'BackOff', `Back-off restarting failed container ${container.name}`);
      }
      write();
      await delay(wait, undefined, { signal: ending.signal }).catch(() => {});
    }
  }

  /** What starts it; undefined, with the reason reported, when it cannot be started yet. */
  async function prepare(container: Container, state: ContainerState): Promise<(() => RunningContainer) | undefined> {
    const image = options.image(container.image);
    if (image === undefined) {
      const message = `Failed to pull image "${container.image}": not found`;
      state.state = { waiting: { reason: 'ErrImagePull', message } };
      await say('Warning', 'Failed', message);
      return undefined;
    }
    try {
      const setup = { connection, machine, pod, folder, address };
      const mounts = await mountsOf(container, setup);
      const env = { ...image.env, HOSTNAME: name, ...options.serviceEnv, ...variablesOf(container, setup) };
      const id = `${uid}-${container.name}-${state.restarts}`;
      const rootfs = join(folder, `${id}-root`);
      cpSync(image.rootfs, rootfs, { recursive: true, verbatimSymlinks: true });
      const config = ociConfig({ pod, container, image, rootfs, env, mounts, network, hostname: name });
      return () => runContainer(machine, id, folder, config, logOf(container, state));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      state.state = { waiting: { reason: 'ContainerCreating', message } };
      await say('Warning', 'FailedMount', `MountVolume.SetUp failed: ${message}`);
      return undefined;
    }
  }

  function logOf(container: Container, { restarts }: ContainerState): string {
    return join(machine.outside('/var/log/pods'), `${namespace}_${name}_${uid}`, container.name, `${restarts}.log`);
  }

  /** Until it ends; resolves to its exit code. */
  async function watch(container: Container, state: ContainerState, process: RunningContainer): Promise<number> {
    const { id, startedAt } = process;
    const log = logOf(container, state);
    const described = `${namespace}_${name}_${container.name}`;
    running.add(process);
    await process.started;
    // It got the signal to end while it was made ready.
    if (ending.signal.aborted) await process.end(0);
    options.describe(described, { log, running: true, exec: [...machine.enter, ...process.exec] });
    Object.assign(state, { id, state: { running: { startedAt } } });
    write();
    await say('Normal', 'Started', `Started container ${container.name}`);

    const alive = new AbortController();
    const probing = probe({
      machine,
      container,
      address,
      exec: process.exec,
      signal: AbortSignal.any([alive.signal, ending.signal]),
      onStarted() {
        state.started = true;
        write();
      },
      onReady(ready) {
        if (state.ready === ready) return;
        state.ready = ready;
        write();
      },
      onUnhealthy: (kind, reason) => say('Warning', 'Unhealthy', `${kind} probe failed: ${reason}`),
      async onDead(kind) {
        await say('Normal', 'Killing', `Container ${container.name} failed ${kind} probe, will be restarted`);
        await process.end(pod.spec.terminationGracePeriodSeconds ?? 30);
      },
    });
    const exitCode = await process.exit;
    alive.abort();
    await probing;
    running.delete(process);
    options.describe(described, { log, running: false, exec: [] });
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const terminated = { exitCode, reason, startedAt, finishedAt: now() };
    Object.assign(state, { ready: false, started: false, state: { terminated }, lastState: { terminated } });
    write();
    return exitCode;
  }
}
