/** Defines the event probe on the tracepoint `skb:kfree_skb`, with its reasons and fields, and a histogram of all reasons. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Btf } from './btf.ts';

export const tracepoint = 'events/skb/kfree_skb';

/**
 * The reasons that lead to Events. src/explain/drops/reasons.ts explains each. With all of them `skb->dev` is a device. With others, the kernel may
 * keep something else there, for example while a packet waits in a socket, and fields that are read through it are meaningless.
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

/** Reads the numbers of the reasons from the tracepoint's format, `{ 6, "NETFILTER_DROP" }`, because they differ from kernel to kernel. */
export function readReasons(tracefs: string): ReadonlyMap<number, string> {
  const format = readFileSync(join(tracefs, tracepoint, 'format'), 'latin1');
  const names = new Map<number, string>();
  for (const [, number, name = ''] of format.matchAll(/\{ *(\d{1,10}|0x[\da-f]{1,8}), *"(\w{1,64})" *\}/g))
    names.set(Number(number), name);
  return names;
}

export function toldNumbers(names: ReadonlyMap<number, string>): number[] {
  const told: ReadonlySet<string> = new Set(toldReasons);
  if (![...names.values()].includes('NETFILTER_DROP'))
    throw new Error('this kernel does not say why it drops packets (Linux 5.18 does)');
  return [...names].flatMap(([number, name]) => (told.has(name) ? [number] : []));
}

export function conditionOn(field: string, numbers: readonly number[]): string {
  return numbers.map((number) => `${field} == ${number}`).join(' || ');
}

/** An event probe. */
export interface EventProbe {
  /** The beginning of its name. */
  event: string;
  /** `GROUP.EVENT` of the tracepoint. */
  on: string;
  fields: string;
  /** Has a condition, as fetching fields costs ten times as much as a check. */
  condition: string;
}

/** Defines the probe of a group, and removes others of it first. Returns its name, another for each definition. */
export function defineProbe(tracefs: string, group: string, probe: EventProbe): string {
  const { on, fields, condition } = probe;
  const folder = join(tracefs, 'events', group);
  const name = nameOf(probe);
  if (eventsIn(folder).some((each) => each !== name)) removeProbes(tracefs, group);
  if (existsSync(join(folder, name))) return name;
  const definition = `e:${group}/${name} ${on} ${fields}`;
  try {
    order(tracefs, `${definition} if ${condition}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    // Before Linux 6.1 there are no conditions. The first kernels with them look `reason` up among the probe's own fields, where it has
    // another name.
    order(tracefs, definition);
  }
  return name;
}

function nameOf({ event, fields, condition }: EventProbe): string {
  return `${event}_${createHash('sha256').update(`${fields} if ${condition}`).digest('hex').slice(0, 8)}`;
}

export function dropProbe(btf: Btf, told: readonly number[]): EventProbe {
  return {
    event: 'drop',
    on: 'skb.kfree_skb',
    fields: definitionFor(btf),
    condition: conditionOn('reason', told),
  };
}

/** Appends, because writing from the beginning would remove the probes of all others. */
export function order(tracefs: string, command: string): void {
  const fd = openSync(join(tracefs, 'dynamic_events'), constants.O_WRONLY | constants.O_APPEND);
  try {
    writeSync(fd, `${command}\n`);
  } finally {
    closeSync(fd);
  }
}

/** Returns the fields of the probe. The name of the device is last, because it may contain any character except white space. */
function definitionFor({ offsetOf }: Btf): string {
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
    `dst=${skb('_skb_refdst')}:x64`,
    // The offset is one less, because the lowest bit of the pointer is set, except for a route with a reference (skb_dst_set_noref).
    `mtu=+${offsetOf('net_device', 'mtu')}(${signed(offsetOf('dst_entry', 'dev') - 1)}(${skb('_skb_refdst')})):u32`,
    `bytes=+0(${skb('data')}):x64[8]`,
    `dev=+${offsetOf('net_device', 'name')}(${skb('dev')}):string`,
  ].join(' ');
}

function signed(offset: number): string {
  return offset < 0 ? String(offset) : `+${offset}`;
}

/** Removes the probes of the group, also those that a killed agent left. */
export function removeProbes(tracefs: string, group: string): void {
  const names = eventsIn(join(tracefs, 'events', group));
  const trace = join(tracefs, 'instances', group);
  // A probe cannot be removed while an instance records it.
  if (names.length > 0 && existsSync(trace)) rmdirSync(trace);
  for (const name of names) order(tracefs, `-:${group}/${name}`);
}

function eventsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
}

/** The most reasons that are counted. No kernel has as many. */
const size = 512;

/** Returns whether the kernel can count events by a field (CONFIG_HIST_TRIGGERS). */
export function hasHistograms(tracefs: string): boolean {
  return existsSync(join(tracefs, tracepoint, 'hist'));
}

/** Lets the kernel count an event by the numbers in a field, which costs this process nothing. `folder`: the folder of the event. */
export function startHistogram(folder: string, field: string): void {
  try {
    writeFileSync(join(folder, 'trigger'), `hist:keys=${field}:size=${size}`);
  } catch {
    // It is there already, or the kernel has no histograms (CONFIG_HIST_TRIGGERS).
  }
}

/** Reads lines like `{ reason:          7 } hitcount:         26`. Returns the count of each number; an empty map if the kernel counts nothing. */
export function readHistogram(folder: string): ReadonlyMap<number, number> {
  try {
    const text = readFileSync(join(folder, 'hist'), 'latin1');
    const lines = text.matchAll(/^\{ \w+: +(\d{1,10}) \} hitcount: +(\d{1,15})$/gm);
    return new Map(Array.from(lines, ([, number, count]) => [Number(number), Number(count)]));
  } catch {
    return new Map();
  }
}
