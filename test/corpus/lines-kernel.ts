import type { Row } from './rows.ts';

/** Lines of the kernel on lost packets without a LOG rule, and lines that look like ours and are not. */
export const kernelLines: Row[] = [
  {
    id: 'D1',
    text: 'nf_conntrack: table full, dropping packet',
    expected: { kind: 'conntrack-full', netns: undefined },
  },
  {
    id: 'D1 with a full stop',
    text: 'nf_conntrack: table full, dropping packet.',
    expected: { kind: 'conntrack-full' },
  },
  {
    id: 'D3 the module’s name twice',
    text: 'nf_conntrack: nf_conntrack: table full, dropping packet',
    expected: { kind: 'conntrack-full', netns: undefined },
  },
  {
    id: 'D4',
    text: 'net_ratelimit: 23807 callbacks suppressed',
    expected: { kind: 'suppressed', by: 'net_ratelimit', count: 23807 },
  },
  {
    id: 'a function with its own rate limit',
    text: '__nf_conntrack_alloc: 1412 callbacks suppressed',
    expected: { kind: 'suppressed', by: '__nf_conntrack_alloc', count: 1412 },
  },
  {
    id: 'a rate limit that hides no packets',
    text: 'audit_printk_skb: 12 callbacks suppressed',
    expected: { kind: 'suppressed', by: 'audit_printk_skb', count: 12 },
  },
  { id: 'D5', text: 'IPv6: Neighbour table overflow', expected: { kind: 'neighbour-overflow', family: 'IPv6' } },
  { id: 'an old spelling', text: 'Neighbour table overflow.', expected: { kind: 'neighbour-overflow' } },
  {
    id: 'D6',
    text: 'neighbour: arp_cache: neighbor table overflow!',
    expected: { kind: 'neighbour-overflow', family: 'IPv4' },
  },
  {
    id: 'the table of IPv6',
    text: 'neighbour: ndisc_cache: neighbor table overflow!',
    expected: { kind: 'neighbour-overflow', family: 'IPv6' },
  },
  {
    id: 'D8 the first address is the destination',
    text: 'IPv4: martian source 100.120.0.4 from 100.96.0.14, on dev datapath',
    expected: {
      kind: 'martian',
      impossible: 'source',
      source: '100.96.0.14',
      destination: '100.120.0.4',
      device: 'datapath',
    },
  },
  {
    id: 'a martian destination',
    text: 'IPv4: martian destination 127.0.0.1 from 10.65.2.9, dev cali1',
    expected: {
      kind: 'martian',
      impossible: 'destination',
      source: '10.65.2.9',
      destination: '127.0.0.1',
      device: 'cali1',
    },
  },
  {
    id: 'a martian without the module’s name',
    text: 'martian source 10.65.2.9 from 10.65.1.4, on dev eth0',
    expected: { kind: 'martian', source: '10.65.1.4', destination: '10.65.2.9' },
  },
  {
    id: 'D8 the hex line that follows',
    text: 'll header: 00000000: ff ff ff ff ff ff 96 24 4d 00 00 01 08 06        .......$M./...',
    expected: undefined,
  },
  {
    id: 'D9 the table of a container',
    text: 'nf_conntrack: table full in netns 4026532317, dropping packet',
    expected: { kind: 'conntrack-full', netns: 4026532317 },
  },
  {
    id: 'D9 with the module’s name twice',
    text: 'nf_conntrack: nf_conntrack: table full in netns 4026532317, dropping packet',
    expected: { kind: 'conntrack-full', netns: 4026532317 },
  },
  {
    id: 'journald has lost it does not know how much',
    text: '/dev/kmsg buffer overrun, some messages lost.',
    expected: { kind: 'suppressed', by: 'journald', count: undefined, affects: 'everything' },
  },
  {
    id: 'journald lost kernel messages',
    text: 'Missed 314 kernel messages',
    expected: { kind: 'suppressed', count: 314 },
  },
  {
    id: 'journald dropped what a service wrote too fast',
    text: 'Suppressed 512 messages from kubelet.service',
    expected: { kind: 'suppressed', count: 512 },
  },
  { id: 'another table', text: 'nf_conntrack: expectation table full', expected: undefined },
  {
    id: 'RouterOS has its own form',
    text: 'firewall,info DROP forward: in:ether1 out:bridge, connection-state:new proto TCP (SYN), 192.0.2.1:5432->10.65.2.9:22, len 60',
    expected: undefined,
  },
  {
    id: 'RouterOS without topics',
    text: 'input: in:ether1 out:(unknown 0), src-mac 02:00:00:00:00:01, proto UDP, 192.0.2.1:68->255.255.255.255:67, len 328',
    expected: undefined,
  },
  { id: 'a USB device', text: 'usb 7-2.4: new high-speed USB device number 13 using xhci_hcd', expected: undefined },
  { id: 'a link', text: 'cali5318d3e5a32: Caught tx_queue_len zero misconfig', expected: undefined },
  { id: 'IN= alone', text: 'PHYSIN=eth0 is no header, nor is IN=eth0', expected: undefined },
  { id: 'an SQL statement', text: 'SELECT * WHERE A IN=B OUTER JOIN C', expected: undefined },
  { id: 'nothing', text: '', expected: undefined },
];
