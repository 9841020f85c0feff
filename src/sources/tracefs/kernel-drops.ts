import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../platform/system-error.ts';
import type { Source } from '../source.ts';
import { accessAdviceOn } from './bpf-trace.ts';
import { readBtf } from './btf.ts';
import { readHistogram, startHistogram } from './histogram.ts';
import { createTrace, type TraceOptions } from './trace.ts';

/**
 * The reasons that lead to Events: of each, src/drops/reasons.ts says what it means. With all of them `skb->dev` is a device: where a packet
 * waits in a tree or in a socket, the kernel keeps something else in its place, and what is fetched through it means nothing.
 */
export const toldReasons = [
  'NETFILTER_DROP',
  'IP_RPFILTER',
  'IP_LOCAL_SOURCE',
  'IP_INVALID_SOURCE',
  'IP_INNOROUTES',
  'IP_OUTNOROUTES',
  'NEIGH_FAILED',
  'NEIGH_CREATEFAIL',
  'PKT_TOO_BIG',
  'XFRM_POLICY',
  'IPV6DISABLED',
  'VXLAN_NO_REMOTE',
  'TC_INGRESS',
  'TC_EGRESS',
  'XDP',
] as const;

/** Also the group of the probe, in which no dash may stand. */
const instance = 'kube_netfilter_tailer_drops';
const tracepoint = 'events/skb/kfree_skb';
const btfFile = '/sys/kernel/btf/vmlinux';

export interface KernelDropsOptions extends TraceOptions {
  /** The types of the running kernel. */
  btf?: string;
}

/**
 * Reads why the kernel throws packets away, from the tracepoint `skb:kfree_skb`, by an event probe that adds the begin of the packet, its device
 * and its network namespace.
 */
export function createKernelDrops({ btf = btfFile, ...options }: KernelDropsOptions): Source {
  const { tracefs } = options;
  const counted = join(tracefs, 'instances', instance, tracepoint);
  let names: ReadonlyMap<number, string> = new Map();
  let filter = '';
  let folder = '';
  let isNarrow = false;
  // To read the types takes 60 ms, which is too much for each try where the kernel refuses the probe.
  let definition: string | undefined;
  const trace = createTrace(
    {
      source: 'kernel-drops',
      program: 'kernel-drops',
      instance,
      event: String.raw`drop_\w{8}`,
      prepare() {
        names = readReasons(tracefs);
        const told = toldNumbers(names);
        definition ??= definitionFor(readFileSync(btf));
        folder = join('events', instance, defineProbe(tracefs, definition, told, instance));
        // Nothing but IP has addresses that are Pods'.
        filter = `(${conditionOn('code', told)}) && (protocol == 0x800 || protocol == 0x86dd)`;
        isNarrow = false;
        return { folder, filter };
      },
      begun: () => startHistogram(counted, 'reason'),
      forget: () => removeProbes(tracefs),
      // A flood takes some 40 % of a processor: 256 lines take about 3 ms.
      pauseInFlood: 4,
      advise: adviceOn,
      textOf(printed) {
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
   * The first line says which network namespace is the node's own: from then on the kernel keeps the rest out, so that a Pod that drops
   * packets in its own takes no place in the buffer. A number that is fetched through a pointer of 0 is what stood there before.
   */
  function narrow(printed: string): void {
    const node = / node=(\d{1,10}) /.exec(printed)?.[1];
    if (node === undefined) return;
    isNarrow = true;
    const ofNode = `device != 0 && netns == ${node} || device == 0 && sock != 0 && socknetns == ${node}`;
    try {
      writeFileSync(join(tracefs, 'instances', instance, folder, 'filter'), `${filter} && (${ofNode})`);
    } catch {
      // Lines of other namespaces are refused when they are read, too.
    }
  }
}

/** What keeps the probe from being made, to a person; undefined if nothing does. One is made, and removed again. */
export function obstacleOf(tracefs: string, btf = btfFile): string | undefined {
  try {
    const told = toldNumbers(readReasons(tracefs));
    const group = `${instance}_check`;
    const event = defineProbe(tracefs, definitionFor(readFileSync(btf)), told, group);
    order(tracefs, `-:${group}/${event}`);
    const trial = join(tracefs, 'instances', group);
    // A check that was killed has left it.
    if (!existsSync(trial)) mkdirSync(trial);
    rmdirSync(trial);
    return undefined;
  } catch (error) {
    return adviceOn(error);
  }
}

function adviceOn(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path === btfFile)
    return `${path} is not there: the kernel does not tell its types (CONFIG_DEBUG_INFO_BTF)`;
  if (code === 'ENOENT' && path?.endsWith(`${tracepoint}/format`) === true)
    return 'no tracefs is mounted there, or the kernel has no event skb:kfree_skb (CONFIG_FTRACE)';
  if (code === 'EBUSY') return 'another agent on this node reads it, and each line can be read but once';
  // It has no such file where it knows no probes; where it does not know the symbol, the write gives the same error.
  if (code === 'EINVAL' || code === 'ENOENT')
    return 'the kernel does not take the probe (CONFIG_KPROBE_EVENTS, since Linux 6.17 CONFIG_EPROBE_EVENTS; CONFIG_KALLSYMS_ALL)';
  return accessAdviceOn(error) ?? reasonOf(error);
}

/** Numbers of reasons differ from kernel to kernel, so they are taken from how the tracepoint prints them: `{ 6, "NETFILTER_DROP" }`. */
function readReasons(tracefs: string): ReadonlyMap<number, string> {
  const format = readFileSync(join(tracefs, tracepoint, 'format'), 'latin1');
  const names = new Map<number, string>();
  for (const [, number, name = ''] of format.matchAll(/\{ *(\d{1,10}|0x[\da-f]{1,8}), *"(\w{1,64})" *\}/g))
    names.set(Number(number), name);
  return names;
}

function toldNumbers(names: ReadonlyMap<number, string>): number[] {
  const told: ReadonlySet<string> = new Set(toldReasons);
  if (![...names.values()].includes('NETFILTER_DROP'))
    throw new Error('this kernel does not say why it drops packets (Linux 5.18 does)');
  return [...names].flatMap(([number, name]) => (told.has(name) ? [number] : []));
}

function conditionOn(field: string, numbers: readonly number[]): string {
  return numbers.map((number) => `${field} == ${number}`).join(' || ');
}

/**
 * Defines the probe if it is not there yet, and returns the name of its event, which differs where the definition does. The condition spares
 * the kernel to fetch the fields of packets that it frees for other reasons, which costs ten times as much as to look at the reason.
 */
function defineProbe(tracefs: string, definition: string, told: readonly number[], group: string): string {
  const condition = conditionOn('reason', told);
  const hash = createHash('sha256').update(`${definition} if ${condition}`);
  const event = `drop_${hash.digest('hex').slice(0, 8)}`;
  if (existsSync(join(tracefs, 'events', group, event))) return event;
  removeProbes(tracefs, group);
  const probe = `e:${group}/${event} skb.kfree_skb ${definition}`;
  try {
    order(tracefs, `${probe} if ${condition}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    // Before Linux 6.1 no probe has a condition. The first ones with it looked for its field in the probe, where it has another name.
    order(tracefs, probe);
  }
  return event;
}

/** To write from the beginning would remove the probes of all others. */
function order(tracefs: string, command: string): void {
  const fd = openSync(join(tracefs, 'dynamic_events'), constants.O_WRONLY | constants.O_APPEND);
  try {
    writeSync(fd, `${command}\n`);
  } finally {
    closeSync(fd);
  }
}

/** The name of the device stands last, because it may hold any character but white space. */
function definitionFor(btf: Buffer): string {
  const { offsetOf } = readBtf(btf);
  const skb = (field: string): string => `+${offsetOf('sk_buff', field)}($skbaddr)`;
  const inum = offsetOf('net', 'ns', 'inum');
  return [
    'code=$reason:u32',
    'protocol=$protocol:u16',
    `node=@init_net+${inum}:u32`,
    `device=${skb('dev')}:x64`,
    `netns=+${inum}(+${offsetOf('net_device', 'nd_net')}(${skb('dev')})):u32`,
    `sock=${skb('sk')}:x64`,
    `socknetns=+${inum}(+${offsetOf('sock_common', 'skc_net')}(${skb('sk')})):u32`,
    `iif=${skb('skb_iif')}:u32`,
    `ifindex=+${offsetOf('net_device', 'ifindex')}(${skb('dev')}):u32`,
    `len=${skb('len')}:u32`,
    `paged=${skb('data_len')}:u32`,
    `head=${skb('head')}:x64`,
    `data=${skb('data')}:x64`,
    `nh=${skb('network_header')}:u16`,
    `bytes=+0(${skb('data')}):x64[8]`,
    `dev=+${offsetOf('net_device', 'name')}(${skb('dev')}):string`,
  ].join(' ');
}

/** Those of an agent that was killed, too. */
function removeProbes(tracefs: string, group = instance): void {
  const folder = join(tracefs, 'events', group);
  if (!existsSync(folder)) return;
  const trace = join(tracefs, 'instances', group);
  // What an instance records cannot be removed.
  if (existsSync(trace)) rmdirSync(trace);
  for (const { name, isDirectory } of foldersOf(folder)) if (isDirectory) order(tracefs, `-:${group}/${name}`);
}

function foldersOf(folder: string): { name: string; isDirectory: boolean }[] {
  return readdirSync(folder, { withFileTypes: true }).map((entry) => ({
    name: entry.name,
    isDirectory: entry.isDirectory(),
  }));
}
