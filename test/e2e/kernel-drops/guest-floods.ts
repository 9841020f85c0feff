/** One Pod floods one of the two buffers while nobody reads them: the lines of another Pod in the other buffer stay. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Schedule } from '../../../src/base/platform/timer.ts';
import { createKernelDrops } from '../../../src/read/sources/tracefs/kernel-drops.ts';
import { defaultTracefs as tracefs } from '../../../src/read/sources/tracefs/trace.ts';
import { systemTiming } from '../../../src/read/sources/source.ts';
import { addPods, print, run, wait } from './guest-node.ts';
import { type PodProcess, startPod } from './guest-pod.ts';
import { flooded, floodPods } from './floods.ts';

/** Each processor has its own buffers, so all Pods are on one. */
const oneProcessor = '/bin/busybox taskset 1';
/** The node also drops other packets. */
const fromPods = / dev="f[01]"$/;
const withinMs = 60_000;
/** A port to which no other case of the guest drops packets. */
const port = 5999;
/** The Pod's own rules drop what it receives, so only the sender's kernel reports it: as a failed connection. */
const inPod = ['table inet floods {', 'chain input {', 'type filter hook input priority 0;', `tcp dport ${port} drop`];
const onNode = [
  'table inet floods {',
  'chain forward {',
  'type filter hook forward priority 0;',
  'meta l4proto udp drop',
];
const closed = ['}', '}', ''];

export async function tryFloods(): Promise<void> {
  const [first, second, receiver] = floodPods;
  const to = receiver.address;
  addPods(floodPods, '10.62.3.1');
  run(`ip netns exec ${receiver.netns} nft -f -`, [...inPod, ...closed].join('\n'));
  run('nft -f -', [...onNode, ...closed].join('\n'));
  const pods = [first, second].map(({ netns, uid }) => startPod(netns, uid, oneProcessor));
  const [attacker, honest] = pods as [PodProcess, PodProcess];
  const startNarrowed = async (): Promise<Reading> => {
    const reading = startReading();
    // The first line names the node's network namespace. From then on the kernel leaves out other namespaces.
    await honest.send({ to, port, count: 1 });
    await reading.read('drops', 1);
    return reading;
  };

  const ofDrops = await startNarrowed();
  ofDrops.pause();
  await honest.connect([{ to, port, localPort: 9999 }]);
  await attacker.send({ to, port, count: flooded.packets });
  const overwritten = overwrittenIn('drops');
  print('drops', { read: await ofDrops.read('connections', 1), overwritten });
  ofDrops.stop();

  const ofConnections = await startNarrowed();
  await attacker.open({ to, port, count: flooded.connections });
  ofConnections.pause();
  await honest.send({ to, port, count: flooded.honest });
  const ended = once(attacker.process, 'close');
  attacker.process.kill('SIGKILL');
  await ended;
  print('connections', {
    overwritten: overwrittenIn('connects'),
    read: await ofConnections.read('drops', 1 + flooded.honest),
  });
  ofConnections.stop();
}

/** How many lines in the buffer of the Pods' processor were overwritten before they were read. */
function overwrittenIn(buffer: string): number {
  const stats = `${tracefs}/instances/kube_netfilter_tailer_${buffer}/per_cpu/cpu0/stats`;
  return Number(/^overrun: (\d+)$/m.exec(readFileSync(stats, 'latin1'))?.[1]);
}

type Kind = 'drops' | 'connections';

/** A source that can be paused, as if its process got no processor time. */
interface Reading {
  pause: () => void;
  stop: () => void;
  /** Continues until there are at least this many lines of a kind. Resolves to their number. */
  read: (kind: Kind, least: number) => Promise<number>;
}

function startReading(): Reading {
  const lines = { drops: 0, connections: 0 };
  let paused: (() => void)[] | undefined;
  const schedule: Schedule = (task, delay) => {
    const inTurn = (): void => void (paused === undefined ? task() : paused.push(task));
    return systemTiming.schedule(inTurn, delay);
  };
  const source = createKernelDrops({
    tracefs,
    timing: { ...systemTiming, schedule },
    listener: {
      take({ text }) {
        if (text.includes('inet_sock_set_state')) lines.connections++;
        else if (fromPods.test(text)) lines.drops++;
      },
      lost() {},
      notice: (notice) => print('notice', notice),
    },
  });
  source.start();
  return {
    pause: () => void (paused = []),
    stop: source.stop,
    async read(this: void, kind, least) {
      const tasks = paused ?? [];
      paused = undefined;
      for (const task of tasks) task();
      // The test shows which lines are missing.
      const deadline = performance.now() + withinMs;
      while (lines[kind] < least && performance.now() < deadline) await wait(100);
      return lines[kind];
    },
  };
}
