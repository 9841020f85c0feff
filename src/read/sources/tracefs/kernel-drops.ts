import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Notice, Source } from '../source.ts';
import { type Btf, readBtf } from './btf.ts';
import { connectFilter, connectProbe } from './connects.ts';
import {
  conditionOn,
  defineProbe,
  dropProbe,
  order,
  type EventProbe,
  readHistogram,
  readReasons,
  removeProbes,
  startHistogram,
  toldNumbers,
  tracepoint,
} from './probe.ts';
import { accessAdviceOn, createTrace, type TraceOptions } from './trace.ts';

/** The names of the instances, and of the groups of their probes, which may not contain a dash. */
const instances = { drops: 'kube_netfilter_tailer_drops', connections: 'kube_netfilter_tailer_connects' };
/** In KiB: fewer connections fail than packets are dropped. */
const connectionsBuffer = 256;
const btfFile = '/sys/kernel/btf/vmlinux';

export interface KernelDropsOptions extends TraceOptions {
  btf?: string;
}

const source = 'kernel-drops';

/**
 * Reads why packets are dropped from `skb:kfree_skb`, and which connections of Pods fail from `sock:inet_sock_set_state`. Event probes add
 * the beginning of each packet, its device and its network namespace; to a connection, what came back, and whose it is. Each has a buffer
 * of its own, because a Pod may close thousands of connections at once, or send as many packets that are dropped.
 */
export function createKernelDrops({ btf = btfFile, ...options }: KernelDropsOptions): Source {
  const probes = createProbes(options.tracefs, btf);
  const connections = createConnections(probes, options);
  const { trace, dropReasons } = createDrops(probes, options, () => {
    if (connections.state === 'waiting') connections.start();
  });
  const sumOf = (of: 'lines' | 'bytes' | 'tooLong'): number => trace.counts[of] + connections.counts[of];
  return {
    name: source,
    // A kernel that does not show connections still shows drops.
    get state() {
      return trace.state;
    },
    get position() {
      return sumOf('lines') === 0 ? undefined : { lines: sumOf('lines') };
    },
    get counts() {
      return { lines: sumOf('lines'), bytes: sumOf('bytes'), tooLong: sumOf('tooLong') };
    },
    dropReasons,
    start: trace.start,
    stop() {
      trace.stop();
      connections.stop();
    },
  };
}

interface Probes {
  readonly drops: EventProbe;
  /** Why this kernel does not have what it needs. */
  readonly connections: EventProbe | Error;
}

/** Keeps them, because reading the types takes 60 ms, and the kernel may refuse a probe again and again. */
function createProbes(tracefs: string, btf: string): () => Probes {
  let probes: Probes | undefined;
  return () => (probes ??= probesOf(readBtf(readFileSync(btf)), toldNumbers(readReasons(tracefs))));
}

function probesOf(types: Btf, told: readonly number[]): Probes {
  const drops = dropProbe(types, told);
  try {
    return { drops, connections: connectProbe(types) };
  } catch (error) {
    return { drops, connections: error as Error };
  }
}

function createDrops(probes: () => Probes, options: TraceOptions, onBegun: () => void) {
  const { tracefs } = options;
  const instance = instances.drops;
  const counted = join(tracefs, 'instances', instance, tracepoint);
  let names: ReadonlyMap<number, string> = new Map();
  let filter = '';
  let folder = '';
  let isNarrow = false;
  const trace = createTrace(
    {
      source,
      program: source,
      instance,
      event: String.raw`drop_\w{8}`,
      prepare() {
        names = readReasons(tracefs);
        const told = toldNumbers(names);
        const event = defineProbe(tracefs, instance, probes().drops);
        folder = join('events', instance, event);
        // Only IP packets have addresses of Pods.
        filter = `(${conditionOn('code', told)}) && (protocol == 0x800 || protocol == 0x86dd)`;
        isNarrow = false;
        return [{ folder, filter }];
      },
      begun() {
        startHistogram(counted, 'reason');
        onBegun();
      },
      forget: () => removeProbes(tracefs, instance),
      // In a flood, reading takes at most 40 % of a processor, however slow that is.
      restInFlood: 1.5,
      advise: adviceOn,
      textOfPrinted(printed) {
        if (!isNarrow) narrow(printed);
        return printed.replace(/ code=(\d{1,10}) /, (whole, code) => {
          const name = names.get(Number(code));
          return name === undefined ? whole : ` reason=${name} `;
        });
      },
    },
    options,
  );
  return { trace, dropReasons };

  /** Reasons without a name are those of drivers and of Open vSwitch. */
  function dropReasons(): ReadonlyMap<string, number> {
    const packets = new Map<string, number>();
    for (const [number, count] of readHistogram(counted)) {
      const name = names.get(number) ?? 'other';
      packets.set(name, (packets.get(name) ?? 0) + count);
    }
    return packets;
  }

  /**
   * Lets the kernel filter out other network namespaces once the first line has named the node's own, so that drops inside of Pods do not
   * fill the buffer. If a pointer is 0, the number that was read through it is an old value.
   */
  function narrow(printed: string): void {
    const node = / node=(\d{1,10}) /.exec(printed)?.[1];
    if (node === undefined) return;
    isNarrow = true;
    const ofNode = `device != 0 && netns == ${node} || device == 0 && sock != 0 && socknetns == ${node}`;
    try {
      writeFileSync(join(tracefs, 'instances', instance, folder, 'filter'), `${filter} && (${ofNode})`);
    } catch {
      // The parser refuses lines of other namespaces, too.
    }
  }
}

function createConnections(probes: () => Probes, options: TraceOptions): Source {
  const { tracefs, listener } = options;
  const instance = instances.connections;
  const notice = ({ text, ...given }: Notice): void =>
    listener.notice({
      ...given,
      level: 'info',
      of: 'connections',
      text: `Connections that fail without an answer: ${text}`,
    });
  return createTrace(
    {
      source,
      program: source,
      instance,
      event: String.raw`connect_\w{8}`,
      prepare() {
        const { connections } = probes();
        if (connections instanceof Error) throw connections;
        return [
          { folder: join('events', instance, defineProbe(tracefs, instance, connections)), filter: connectFilter },
        ];
      },
      forget: () => removeProbes(tracefs, instance),
      buffer: connectionsBuffer,
      linesOf: 'connections',
      // A tenth of a processor.
      restInFlood: 9,
      advise: connectionsAdviceOn,
    },
    { ...options, listener: { ...listener, notice } },
  );
}

const checkGroup = `${instances.drops}_check`;

/** Returns why the probe for drops cannot be created; undefined if it can. It creates one and removes it. */
export function kernelDropsObstacle(tracefs: string, btf = btfFile): string | undefined {
  try {
    const told = toldNumbers(readReasons(tracefs));
    tryProbe(tracefs, dropProbe(readBtf(readFileSync(btf)), told));
    const trial = join(tracefs, 'instances', checkGroup);
    // It exists if an earlier check was killed.
    if (!existsSync(trial)) mkdirSync(trial);
    rmdirSync(trial);
    return undefined;
  } catch (error) {
    return adviceOn(error);
  }
}

/** The same of the probe for connections. */
export function connectionsObstacleOf(tracefs: string, btf = btfFile): string | undefined {
  try {
    tryProbe(tracefs, connectProbe(readBtf(readFileSync(btf))));
    return undefined;
  } catch (error) {
    return connectionsAdviceOn(error);
  }
}

function tryProbe(tracefs: string, probe: EventProbe): void {
  const event = defineProbe(tracefs, checkGroup, probe);
  order(tracefs, `-:${checkGroup}/${event}`);
}

function connectionsAdviceOn(error: unknown): string {
  return busyAdviceOn(error) ?? accessAdviceOn(error) ?? `${reasonOf(error)}. Linux 6.1 or newer shows them`;
}

function busyAdviceOn(error: unknown): string | undefined {
  const isBusy = (error as NodeJS.ErrnoException).code === 'EBUSY';
  return isBusy ? 'another agent on this node reads it, and each line can be read but once' : undefined;
}

function adviceOn(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path === btfFile)
    return `${path} is not there: the kernel does not tell its types (CONFIG_DEBUG_INFO_BTF)`;
  if (code === 'ENOENT' && path?.endsWith(`${tracepoint}/format`) === true)
    return 'no tracefs is mounted there, or the kernel has no event skb:kfree_skb (CONFIG_FTRACE)';
  // Without probes the file is missing. If the kernel does not know the symbol, writing gives the same error.
  if (code === 'EINVAL' || code === 'ENOENT')
    return 'the kernel does not take the probe (CONFIG_KPROBE_EVENTS, since Linux 6.17 CONFIG_EPROBE_EVENTS; CONFIG_KALLSYMS_ALL)';
  return busyAdviceOn(error) ?? accessAdviceOn(error) ?? reasonOf(error);
}
