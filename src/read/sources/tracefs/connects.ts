/** Defines the event probe on the tracepoint `sock:inet_sock_set_state`: connections of Pods that nobody answers. */
import type { Btf } from './btf.ts';
import type { EventProbe } from './probe.ts';

/** From SYN_SENT to CLOSE. These numbers are part of the kernel's interface (include/uapi/linux/bpf.h). */
const condition = 'oldstate == 2 && newstate == 7 && protocol == 6';

/** Linux' ENETUNREACH: a router, or the Pod's own kernel, has no route. No policy says that. */
const noRoute = 101;

/**
 * Lets the kernel leave out all but Pods' connections that failed without an answer. A closed port has answered. A connection that was
 * given up before its first packet was repeated, a second after it began, has no error, and may just be one that is not needed any more.
 * If an ICMP error comes while `connect` is still sending, the kernel tries again, but has handed the error to the program, which closes
 * the socket at once. Then only the socket's queue of errors shows it (IPv4, in which Linux 6.1 and 6.12 queue it unasked).
 */
export const connectFilter =
  `${condition} && answers == 0 && error != ${noRoute} && ` +
  `(error != 0 || tries != 0 || queued != 0 && reported != ${noRoute}) && first ~ "kubepods*"`;

/** The names of cgroups come last: of the first three from the root on, where no Pod can make any. */
export function connectProbe({ offsetOf }: Btf): EventProbe {
  const of = (structure: string, ...path: [string, ...string[]]): string => `+${offsetOf(structure, ...path)}($skaddr)`;
  /** The first in the queue is an error only if something is queued. */
  const errorInPacket = offsetOf('sk_buff', 'cb') + offsetOf('sock_exterr_skb', 'ee', 'ee_errno');
  const cgroup = of('sock', 'sk_cgrp_data', 'cgroup');
  const ancestor = (level: number): string => `+${offsetOf('cgroup', 'ancestors') + 8 * level}(${cgroup})`;
  const nameOf = (level: number): string =>
    `+0(+${offsetOf('kernfs_node', 'name')}(+${offsetOf('cgroup', 'kn')}(${ancestor(level)}))):string`;
  const fields = [
    // Named as in the tracepoint, because some kernels look for the condition's names here.
    'oldstate=$oldstate:u32',
    'newstate=$newstate:u32',
    'protocol=$protocol:u16',
    'family=$family:u16',
    'sport=$sport:u16',
    'dport=$dport:u16',
    `from=${of('sock_common', 'skc_rcv_saddr')}:x32`,
    `to=${of('sock_common', 'skc_daddr')}:x32`,
    `from6=${of('sock_common', 'skc_v6_rcv_saddr')}:x64[2]`,
    `to6=${of('sock_common', 'skc_v6_daddr')}:x64[2]`,
    `error=${of('sock', 'sk_err')}:u32`,
    `tries=${of('inet_connection_sock', 'icsk_retransmits')}:u8`,
    `answers=${of('tcp_sock', 'segs_in')}:u32`,
    `queued=${of('sock', 'sk_error_queue', 'qlen')}:u32`,
    `reported=+${errorInPacket}(${of('sock', 'sk_error_queue')}):u32`,
    `cgroup=${cgroup}:x64`,
    `level=+${offsetOf('cgroup', 'level')}(${cgroup}):u32`,
    `first=${nameOf(1)}`,
    `second=${nameOf(2)}`,
    `third=${nameOf(3)}`,
  ];
  return { event: 'connect', on: 'sock.inet_sock_set_state', fields: fields.join(' '), condition };
}
