import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Source } from '../source.ts';
import { readBtf } from './btf.ts';
import { connectFilter, connectProbe } from './connects.ts';
import {
  conditionOn,
  defineProbes,
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

/** The name of the instance, and of the probe's group, which may not contain a dash. */
const instance = 'kube_netfilter_tailer_drops';
const btfFile = '/sys/kernel/btf/vmlinux';

export interface KernelDropsOptions extends TraceOptions {
  btf?: string;
}

/**
 * Reads why packets are dropped from `skb:kfree_skb`, and which connections of Pods fail from `sock:inet_sock_set_state`. Event probes add
 * the beginning of each packet, its device and its network namespace; to a connection, what came back, and whose it is.
 */
export function createKernelDrops({ btf = btfFile, ...options }: KernelDropsOptions): Source {
  const { tracefs, listener } = options;
  const counted = join(tracefs, 'instances', instance, tracepoint);
  let names: ReadonlyMap<number, string> = new Map();
  let filter = '';
  let folder = '';
  let isNarrow = false;
  // Kept, because reading the types takes 60 ms, and the kernel may refuse the probe again and again.
  let probes: readonly EventProbe[] | undefined;
  const trace = createTrace(
    {
      source: 'kernel-drops',
      program: 'kernel-drops',
      instance,
      event: String.raw`(?:drop|connect)_\w{8}`,
      prepare() {
        names = readReasons(tracefs);
        const told = toldNumbers(names);
        probes ??= probesOf(readFileSync(btf), told, withoutConnections);
        const [drops = '', connects] = defined(probes).map((event) => join('events', instance, event));
        folder = drops;
        // Only IP packets have addresses of Pods.
        filter = `(${conditionOn('code', told)}) && (protocol == 0x800 || protocol == 0x86dd)`;
        isNarrow = false;
        return [{ folder, filter }, ...(connects === undefined ? [] : [{ folder: connects, filter: connectFilter }])];
      },
      begun: () => startHistogram(counted, 'reason'),
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
  return Object.assign(trace, { dropReasons });

  function defined([drops, ...others]: readonly EventProbe[]): string[] {
    try {
      return defineProbes(tracefs, instance, [drops as EventProbe, ...others]);
    } catch (error) {
      if (others.length === 0) throw error;
      // If the one for drops is refused as well, this throws, and both are tried again later.
      const events = defineProbes(tracefs, instance, [drops as EventProbe]);
      withoutConnections(error);
      return events;
    }
  }

  function withoutConnections(error: unknown): void {
    const text = `Connections that fail without an answer cannot be read: ${connectionsAdviceOn(error)}`;
    listener.notice({ level: 'info', key: 'connections', text });
  }

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

/** Returns the probe for drops, and if this kernel has what it needs, that for connections. */
function probesOf(types: Buffer, told: readonly number[], onRefused: (error: unknown) => void): EventProbe[] {
  const btf = readBtf(types);
  const drops = dropProbe(btf, told);
  try {
    return [drops, connectProbe(btf)];
  } catch (error) {
    onRefused(error);
    return [drops];
  }
}

const checkGroup = `${instance}_check`;

/** Returns why the probe for drops cannot be created; undefined if it can. It creates one and removes it. */
export function obstacleOf(tracefs: string, btf = btfFile): string | undefined {
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
  const [event = ''] = defineProbes(tracefs, checkGroup, [probe]);
  order(tracefs, `-:${checkGroup}/${event}`);
}

function connectionsAdviceOn(error: unknown): string {
  return `${reasonOf(error)}. Linux 6.1 or newer shows them`;
}

function adviceOn(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path === btfFile)
    return `${path} is not there: the kernel does not tell its types (CONFIG_DEBUG_INFO_BTF)`;
  if (code === 'ENOENT' && path?.endsWith(`${tracepoint}/format`) === true)
    return 'no tracefs is mounted there, or the kernel has no event skb:kfree_skb (CONFIG_FTRACE)';
  if (code === 'EBUSY') return 'another agent on this node reads it, and each line can be read but once';
  // Without probes the file is missing. If the kernel does not know the symbol, writing gives the same error.
  if (code === 'EINVAL' || code === 'ENOENT')
    return 'the kernel does not take the probe (CONFIG_KPROBE_EVENTS, since Linux 6.17 CONFIG_EPROBE_EVENTS; CONFIG_KALLSYMS_ALL)';
  return accessAdviceOn(error) ?? reasonOf(error);
}
