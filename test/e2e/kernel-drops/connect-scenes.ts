/** Connections that fail, why they fail, and what the agent must report about them. */
import type { GuestPod } from './guest-node.ts';
import type { Scene } from './scene.ts';

/** Pods that connect. Each has at most eight Events, so several Pods share the scenes. `strict` may send nothing. */
export type Sender = 'cart' | 'job' | 'strict';

/**
 * `denied`: an Event and a row of the audit count each connection, with policy and clause. `told`: another line counts
 * its packets. `foreign`, `unproven`: only the metric counts it. `silent`: the kernel logs no line about it.
 */
export type Expected = 'denied' | 'told' | 'foreign' | 'unproven' | 'silent';

export interface ConnectScene {
  name: string;
  from: Sender;
  expected: Expected;
  /** Whether the receiver's policies deny traffic from these senders. By default, they do in scenes with `denied`. */
  isDenied?: boolean;
  /** Rules of nftables in the receiver's network, in the hook input, as on another node. */
  there?: string;
  /** Rules in the node's network, in the hook forward. `ADDRESS` is the receiver's. */
  here?: string;
  /** Commands that are run before. `NETNS`, `SENDER`, `ADDRESS` are replaced. */
  before?: readonly string[];
  /** The address to connect to. By default the receiver's IPv4 address. */
  to?: 'IPv6' | 'mapped' | 'Service' | 'outside' | 'both families';
  port?: number;
  /**
   * The program that connects gives up after this many milliseconds; by default when the kernel has repeated the SYN.
   */
  within?: number;
  /** The source address is that of another Pod. */
  isForeign?: boolean;
  /** The program is killed after `short`. */
  isKilled?: boolean;
  /** The program gets an answer of this kind. By default it gives up without one. */
  outcome?: string;
}

export const port = 5432;
/** An address behind a router that drops everything. */
export const outside = '203.0.113.7';
/** Milliseconds within which a SYN is not repeated yet. */
export const short = 100;
const drop = `tcp dport ${port} drop`;

export const scenes: readonly ConnectScene[] = [
  { name: 'a rule of nftables on the other node', from: 'cart', expected: 'denied', there: drop },
  {
    name: 'a rule of iptables on the other node',
    from: 'cart',
    expected: 'denied',
    before: [`ip netns exec NETNS iptables -A INPUT -p tcp --dport ${port} -j DROP`],
  },
  {
    name: "one of the Pod's own rules",
    from: 'cart',
    expected: 'denied',
    before: ['ip netns exec SENDER iptables -A OUTPUT -d ADDRESS -j DROP'],
  },
  { name: 'NFQUEUE without a program that accepts', from: 'cart', expected: 'denied', here: 'queue num 7' },
  {
    name: 'XDP at the other end',
    from: 'cart',
    expected: 'denied',
    before: ['ip -n NETNS link set dev eth0 xdpdrv obj /run/drop.o sec xdp'],
  },
  { name: 'IPv6', from: 'cart', expected: 'denied', there: drop, to: 'IPv6' },
  { name: 'IPv4 in a socket of IPv6', from: 'cart', expected: 'denied', there: drop, to: 'mapped' },
  {
    name: 'REJECT with an ICMP error',
    from: 'job',
    expected: 'denied',
    there: `tcp dport ${port} reject with icmp port-unreachable`,
    outcome: 'ECONNREFUSED',
  },
  {
    name: 'REJECT with an ICMP error, as firewalld does',
    from: 'job',
    expected: 'denied',
    there: `tcp dport ${port} reject with icmp admin-prohibited`,
    outcome: 'EHOSTUNREACH',
  },
  {
    name: 'REJECT with an ICMP error, IPv6',
    from: 'job',
    expected: 'denied',
    there: `tcp dport ${port} reject with icmpv6 port-unreachable`,
    to: 'IPv6',
    outcome: 'ECONNREFUSED',
  },
  {
    name: "a Service's address, whose endpoint is denied",
    from: 'job',
    expected: 'denied',
    there: drop,
    to: 'Service',
  },
  { name: 'policies at both ends', from: 'strict', expected: 'denied', there: drop },
  { name: 'a rule of the node, which kernel-drops reports', from: 'job', expected: 'told', here: 'drop' },
  { name: 'a LOG rule of the node', from: 'job', expected: 'told', here: 'log prefix "calico-drop: " queue num 7' },
  {
    name: 'REJECT with a TCP reset',
    from: 'job',
    expected: 'silent',
    isDenied: true,
    there: `tcp dport ${port} reject with tcp reset`,
    outcome: 'ECONNREFUSED',
  },
  { name: 'a closed port', from: 'cart', expected: 'silent', outcome: 'ECONNREFUSED' },
  { name: 'the client closes early', from: 'cart', expected: 'silent', isDenied: true, there: drop, within: short },
  { name: 'the client is killed', from: 'cart', expected: 'silent', there: drop, isKilled: true },
  {
    name: 'happy eyeballs: the address of IPv6 is dead',
    from: 'job',
    expected: 'silent',
    there: `ip6 nexthdr tcp tcp dport ${port} drop`,
    to: 'both families',
    outcome: 'connected',
  },
  { name: 'a connection that succeeds', from: 'job', expected: 'silent', outcome: 'connected' },
  { name: 'a full accept queue', from: 'job', expected: 'unproven' },
  { name: 'a black hole behind the node', from: 'job', expected: 'unproven', to: 'outside' },
  { name: 'a drop that no policy denies', from: 'cart', expected: 'unproven', there: drop },
  {
    name: 'the source address of another Pod',
    from: 'cart',
    expected: 'foreign',
    isDenied: true,
    there: drop,
    isForeign: true,
  },
];

export function isDenied({
  expected,
  isDenied: given = expected === 'denied' || expected === 'told',
}: ConnectScene): boolean {
  return given;
}

export const senders: readonly Sender[] = ['cart', 'job', 'strict'];
export const gateway = '10.62.2.1';

export interface ConnectPod extends GuestPod {
  name: string;
  address6: string;
  uid: string;
}

export interface ConnectsScene extends Scene {
  pods: readonly ConnectPod[];
  /** The address of the Service in front of the receiver of that scene. */
  service: string;
  /** The port on this machine's loopback at which the guest asks for the time, and reports what it has tried. */
  tellPort: number;
  rounds: number;
  /** How many minutes the loops run at least. */
  minutes: number;
  /** How many connections to a closed port are tried at the same time, without a break. */
  closedBeside: number;
}

/** The receiver of a scene, by the scene's place. */
export function receiverOf(index: number): string {
  return `receiver-${index}`;
}
