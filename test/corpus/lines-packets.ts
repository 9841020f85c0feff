import { flow } from './rows.ts';
import type { Row } from './rows.ts';

const mac = 'MAC=02:00:00:00:00:01:02:00:00:00:00:02:08:00';
const ip = 'TOS=0x00 PREC=0x00 TTL=63 ID=4711';
const tcp = 'WINDOW=64240 RES=0x00 SYN URGP=0';

/** Packets as Calico, other policy loggers' rules and host firewalls log them, and headers that are easily misread. */
export const packetLines: Row[] = [
  {
    id: 'the name of a process that crashes, and of its file',
    text: `drop IN=a OUT= [25699]: segfault at 0 ip 0000000000401000 sp 00007ffe10 error 4 in drop IN=a OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 ${ip} PROTO=TCP SPT=1 DPT=2 ${tcp} [400000+1000]`,
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'the same without OUT=',
    text: `drop IN=a MAC= [25699]: segfault at 0 ip 0000000000401000 sp 00007ffe10 error 4 in SRC=10.0.0.1 DST=10.0.0.2 LEN=60 ${ip} PROTO=TCP SPT=1 DPT=2 ${tcp} [400000+1000]`,
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'the same of ARP',
    text: 'drop IN= MAC= [25699]: segfault at 0 ip 0000000000401000 sp 00007ffe10 error 4 in ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 IPSRC=10.0.0.1 IPDST=10.0.0.2 [400000+1000]',
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'the names of a process and of a control group',
    text: `drop: page allocation failure: order:0, mode:0x0(GFP), nodemask=(null),cpuset=IN=a OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 ${ip} PROTO=TCP SPT=1 DPT=2 ${tcp} ,mems_allowed=0`,
    expected: { ...flow('TCP', '10.0.0.1', '10.0.0.2', 1, 2), verdict: 'logged' },
  },
  {
    id: 'A1 an empty MAC= of a tunnel device, and a mark',
    text: `calico-drop: IN=tunl0 OUT=cali33c0a9d1f42 MAC= SRC=192.168.7.11 DST=192.168.8.12 LEN=60 ${ip} DF PROTO=TCP SPT=56248 DPT=80 ${tcp} MARK=0xa000000`,
    expected: {
      ...flow('TCP', '192.168.7.11', '192.168.8.12', 56248, 80),
      verdict: 'dropped',
      prefix: 'calico-drop:',
      inInterface: 'tunl0',
      destinationMac: undefined,
      mark: 0xa000000,
    },
  },
  {
    id: 'A3 masked addresses',
    text: `calico-packet: IN=eth1 OUT= ${mac} SRC=172.16.X.XX DST=172.16.XX.X LEN=60 ${ip} DF PROTO=TCP SPT=42962 DPT=22 ${tcp}`,
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'A4 from the tunnel to a Pod',
    text: `calico-packet: IN=vxlan.calico OUT=cali0f4c3b2a190 MAC=66:a4:6f:00:00:01:66:ca:47:00:00:02:08:00 SRC=10.233.1.8 DST=10.233.2.9 LEN=60 ${ip} DF PROTO=TCP SPT=10275 DPT=8080 ${tcp}`,
    expected: {
      ...flow('TCP', '10.233.1.8', '10.233.2.9', 10275, 8080),
      verdict: 'logged',
      inInterface: 'vxlan.calico',
      outInterface: 'cali0f4c3b2a190',
      destinationMac: '66:a4:6f:00:00:01',
    },
  },
  {
    id: 'A6 a space at the end',
    text: `calico-packet: IN=eth0 OUT=cali21f32b9552e ${mac} SRC=10.112.1.73 DST=10.112.2.53 LEN=60 ${ip} DF PROTO=TCP SPT=57812 DPT=80 ${tcp} `,
    expected: { ...flow('TCP', '10.112.1.73', '10.112.2.53', 57812, 80), verdict: 'logged', uid: undefined },
  },
  {
    id: 'A7 two Pods of one node',
    text: `calico-packet: IN=calia000000000a OUT=calib000000000b MAC=ee:ee:ee:ee:ee:ee:c6:22:0b:00:00:01:08:00 SRC=10.4.1.13 DST=10.4.1.12 LEN=60 ${ip} DF PROTO=TCP SPT=60743 DPT=12865 ${tcp} `,
    expected: {
      ...flow('TCP', '10.4.1.13', '10.4.1.12', 60743, 12865),
      inInterface: 'calia000000000a',
      outInterface: 'calib000000000b',
      destinationMac: 'ee:ee:ee:ee:ee:ee',
    },
  },
  {
    id: 'A8 echo request: the second ID= and SEQ= are the ICMP header',
    text: `calico-packet: IN=calic440f455693 OUT=eth0 ${mac} SRC=10.244.3.7 DST=192.0.2.8 LEN=84 ${ip} DF PROTO=ICMP TYPE=8 CODE=0 ID=32113 SEQ=43 `,
    expected: [
      flow('ICMP', '10.244.3.7', '192.0.2.8'),
      {
        packet: { icmpType: 8, icmpCode: 0, tcpFlags: undefined, length: 84 },
        inner: undefined,
      },
    ],
  },
  {
    id: 'A10 redacted addresses',
    text: `calico-packet: IN= OUT=eth1 SRC=(redacted) DST=(redacted) LEN=60 ${ip} DF PROTO=TCP SPT=39864 DPT=4317 ${tcp} MARK=0x73800000 `,
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'A11 shortened interface and MAC; the first LEN= is the packet, the second is UDP',
    text: `calico-packet: IN=cali.. OUT=eth0 MAC=.. SRC=10.10.5.17 DST=198.51.100.23 LEN=93 TOS=0x04 PREC=0x00 TTL=63 ID=14229 PROTO=UDP SPT=50000 DPT=17488 LEN=73`,
    expected: [
      flow('UDP', '10.10.5.17', '198.51.100.23', 50000, 17488),
      {
        packet: { length: 93 },
        inInterface: 'cali..',
        destinationMac: undefined,
      },
    ],
  },
  {
    id: 'A13 TRACE is no drop',
    text: `TRACE: filter:cali-fw-cali5318d3e5a32:rule:5 IN=cali5318d3e5a32 OUT=calie377d8195aa ${mac} SRC=192.168.3.5 DST=192.168.3.6 LEN=84 ${ip} DF PROTO=ICMP TYPE=8 CODE=0 ID=8 SEQ=212 MARK=0x10000 `,
    expected: { ...flow('ICMP', '192.168.3.5', '192.168.3.6'), verdict: 'logged', mark: 0x10000 },
  },
  {
    id: 'A15 TRACE with sequence numbers and options: ACK=0 is not the flag',
    text: `TRACE: filter:cali-wl-to-host:rule:1 IN=calid75abf4f5e0 OUT= ${mac} SRC=10.68.9.223 DST=10.64.8.33 LEN=60 ${ip} DF PROTO=TCP SPT=60448 DPT=9091 SEQ=3198891456 ACK=0 WINDOW=29200 RES=0x00 SYN URGP=0 OPT (020405B40402080A01B169050000000001030307) MARK=0x40000`,
    expected: [
      flow('TCP', '10.68.9.223', '10.64.8.33', 60448, 9091),
      {
        packet: { tcpFlags: 2 },
        verdict: 'logged',
        outInterface: '',
        mark: 0x40000,
      },
    ],
  },
  {
    id: 'B1 bridge ports and no MAC',
    text: `[UFW BLOCK] IN=weave OUT=weave PHYSIN=vethwepl8172 PHYSOUT=vethwepl24506 SRC=10.32.0.1 DST=10.32.0.9 LEN=60 ${ip} DF PROTO=TCP SPT=36452 DPT=5432 ${tcp}`,
    expected: {
      ...flow('TCP', '10.32.0.1', '10.32.0.9', 36452, 5432),
      verdict: 'dropped',
      physIn: 'vethwepl8172',
      physOut: 'vethwepl24506',
    },
  },
  {
    id: 'B3 ICMPv6, addresses in full',
    text: '[UFW BLOCK] IN=eth0 OUT= MAC=33:33:00:00:00:01:02:00:00:00:00:02:86:dd SRC=fe80:0000:0000:0000:0000:5dff:fe87:e293 DST=ff02:0000:0000:0000:0000:0000:0000:0001 LEN=76 TC=0 HOPLIMIT=1 FLOWLBL=0 PROTO=ICMPv6 TYPE=130 CODE=0 ',
    expected: [
      flow('ICMPv6', 'fe80::5dff:fe87:e293', 'ff02::1'),
      {
        verdict: 'dropped',
        packet: { icmpType: 130, ttl: 1 },
        destinationMac: '33:33:00:00:00:01',
      },
    ],
  },
  {
    id: 'B4 UFW AUDIT is no drop',
    text: `[UFW AUDIT] IN=lo OUT= MAC=00:00:00:00:00:00:00:00:00:00:00:00:86:dd SRC=0000:0000:0000:0000:0000:0000:0000:0001 DST=0000:0000:0000:0000:0000:0000:0000:0001 LEN=68 TC=0 HOPLIMIT=64 FLOWLBL=0 PROTO=TCP SPT=44304 DPT=4101 ${tcp} `,
    expected: { ...flow('TCP', '::1', '::1', 44304, 4101), verdict: 'logged' },
  },
  {
    id: 'B5 IGMP is a number',
    text: `[UFW BLOCK] IN=wlp3s0 OUT= MAC=01:00:5e:00:00:01:02:00:00:00:00:02:08:00 SRC=192.168.5.1 DST=224.0.0.1 LEN=36 TOS=0x00 PREC=0x00 TTL=1 ID=31495 DF PROTO=2 `,
    expected: [flow('IGMP', '192.168.5.1', '224.0.0.1'), { verdict: 'dropped', packet: { incomplete: false } }],
  },
  {
    id: 'B7 firewalld, last rule',
    text: `FINAL_REJECT: IN=br-0afe0000 OUT=enp1s0 ${mac} SRC=10.254.0.2 DST=192.0.2.53 LEN=56 ${ip} DF PROTO=UDP SPT=46304 DPT=53 LEN=36 `,
    expected: { ...flow('UDP', '10.254.0.2', '192.0.2.53', 46304, 53), verdict: 'rejected' },
  },
  {
    id: 'B9 quotes within the prefix touch IN=; VRRP is a number',
    text: `"filter_IN_public_REJECT: "IN=ethx0 OUT= ${mac} SRC=192.168.101.71 DST=224.0.0.18 LEN=40 TOS=0x00 PREC=0xC0 TTL=255 ID=1 PROTO=112`,
    expected: { ...flow('VRRP', '192.168.101.71', '224.0.0.18'), verdict: 'rejected', inInterface: 'ethx0' },
  },
  {
    id: 'B10 a bracketed prefix touches IN=',
    text: '[bri-FWD-filter-default-D]IN=eth2 OUT=eth1 MAC=33:33:00:00:00:16:02:00:00:00:00:02:86:dd SRC=0000:0000:0000:0000:0000:0000:0000:0000 DST=ff02:0000:0000:0000:0000:0000:0000:0016 LEN=96 TC=0 HOPLIMIT=1 FLOWLBL=0 PROTO=ICMPv6 TYPE=143 CODE=0',
    expected: { ...flow('ICMPv6', '::', 'ff02::16'), verdict: 'dropped', prefix: '[bri-FWD-filter-default-D]' },
  },
  {
    id: 'B12 no OUT=, a date within the prefix',
    text: `0 6 PVEFW-HOST-IN 02/Mar/2021:19:40:22 +0100 policy DROP: IN=enp1s0f0 ${mac} SRC=192.0.2.13 DST=198.51.100.17 LEN=40 TOS=0x00 PREC=0x00 TTL=241 ID=54321 PROTO=TCP SPT=46363 DPT=8123 SEQ=3807223242 ACK=0 WINDOW=65535 SYN`,
    expected: [
      flow('TCP', '192.0.2.13', '198.51.100.17', 46363, 8123),
      {
        verdict: 'dropped',
        outInterface: '',
        packet: { tcpFlags: 2 },
      },
    ],
  },
  {
    id: 'B13 a logger that logs accepted packets too',
    text: `101 6 tap101i0-IN 02/Mar/2021:19:40:07 +0100 ACCEPT: IN=fwbr101i0 OUT=fwbr101i0 PHYSIN=fwln101i0 PHYSOUT=tap101i0 ${mac} SRC=192.0.2.13 DST=198.51.100.17 LEN=60 ${ip} PROTO=TCP SPT=36494 DPT=10051 SEQ=271997875 ACK=0 WINDOW=29200 SYN`,
    expected: { ...flow('TCP', '192.0.2.13', '198.51.100.17', 36494, 10051), verdict: 'accepted', physOut: 'tap101i0' },
  },
  {
    id: 'C2 ARP, behind a decoded Ethernet header',
    text: 'test: IN=veth0 OUT= MACSRC=86:6c:92:00:00:01 MACDST=0e:3b:eb:00:00:02 VPROTO=8100 VID=10 MACPROTO=0806 ARP HTYPE=1 PTYPE=0x0800 OPCODE=2 MACSRC=86:6c:92:00:00:01 IPSRC=192.168.10.2 MACDST=0e:3b:eb:00:00:02 IPDST=192.168.10.1',
    expected: [
      flow('ARP', '192.168.10.2', '192.168.10.1'),
      {
        verdict: 'logged',
        destinationMac: '0e:3b:eb:00:00:02',
        packet: { incomplete: false },
      },
    ],
  },
  {
    id: 'C3 fragmentation needed',
    text: `Inbound IN=wlan0 OUT= ${mac} SRC=192.168.1.1 DST=192.168.1.2 LEN=576 TOS=0x00 PREC=0xC0 TTL=64 ID=44143 PROTO=ICMP TYPE=3 CODE=4 [SRC=192.168.1.2 DST=203.0.113.27 LEN=1500 ${ip} DF PROTO=TCP SPT=34153 DPT=80 WINDOW=65535 RES=0x00 ACK URGP=0 ] MTU=1492 `,
    expected: {
      ...flow('ICMP', '192.168.1.1', '192.168.1.2'),
      inner: { source: '192.168.1.2', destination: '203.0.113.27', protocol: 'TCP', destinationPort: 80, tcpFlags: 16 },
      mtu: 1492,
    },
  },
  {
    id: 'C5 a fragment within an ICMP error; the prefix ends with a colon',
    text: `BANDWIDTH_IN:IN=WAN OUT=LAN ${mac} SRC=203.0.113.17 DST=192.168.0.40 LEN=576 TOS=0x00 PREC=0x20 TTL=52 ID=62829 PROTO=ICMP TYPE=11 CODE=1 [SRC=192.168.0.40 DST=203.0.113.17 LEN=572 TOS=0x00 PREC=0x00 TTL=116 ID=4427 MF PROTO=UDP SPT=27005 DPT=27038 LEN=1035 ]`,
    expected: {
      ...flow('ICMP', '203.0.113.17', '192.168.0.40'),
      prefix: 'BANDWIDTH_IN:',
      inner: { protocol: 'UDP', sourcePort: 27005, destinationPort: 27038, length: 572, laterFragment: false },
    },
  },
  {
    id: 'C7 made on the node itself, by a known user',
    text: `OUTPUT reject: IN= OUT=eth0 SRC=192.0.2.13 DST=192.0.2.14 LEN=83 ${ip} DF PROTO=TCP SPT=54252 DPT=8140 WINDOW=946 RES=0x00 ACK PSH URGP=0 UID=0 GID=0 `,
    expected: [
      flow('TCP', '192.0.2.13', '192.0.2.14', 54252, 8140),
      {
        verdict: 'rejected',
        inInterface: '',
        uid: 0,
        packet: { tcpFlags: 24 },
      },
    ],
  },
  {
    id: 'C8 SCTP is a number, without ports',
    text: 'IN=eth0 SRC=192.168.1.100 DST=10.0.0.9 PROTO=132',
    expected: { ...flow('SCTP', '192.168.1.100', '10.0.0.9'), prefix: '', verdict: 'logged' },
  },
  {
    id: 'C8 SCTP by name, with ports',
    text: `IN=eth0 OUT= SRC=192.168.1.100 DST=10.0.0.9 LEN=68 ${ip} PROTO=SCTP SPT=36412 DPT=38412 `,
    expected: flow('SCTP', '192.168.1.100', '10.0.0.9', 36412, 38412),
  },
  {
    id: 'a later fragment has no ports',
    text: `calico-drop: IN=eth0 OUT=cali1 ${mac} SRC=10.65.1.4 DST=10.65.2.9 LEN=1500 ${ip} MF FRAG:185 PROTO=UDP `,
    expected: [flow('UDP', '10.65.1.4', '10.65.2.9'), { packet: { laterFragment: true, incomplete: false } }],
  },
  {
    id: 'eight bytes of the inner packet',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=10.65.1.1 DST=10.65.2.9 LEN=56 ${ip} PROTO=ICMP TYPE=3 CODE=1 [SRC=10.65.2.9 DST=10.65.3.7 LEN=60 ${ip} DF PROTO=TCP INCOMPLETE [8 bytes] ] MARK=0x4000 `,
    expected: {
      packet: { incomplete: false },
      inner: { source: '10.65.2.9', protocol: 'TCP', incomplete: true, destinationPort: undefined },
      mark: 0x4000,
    },
  },
  {
    id: 'cut within the inner packet',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=10.65.1.1 DST=10.65.2.9 LEN=56 ${ip} PROTO=ICMP TYPE=3 CODE=1 [SRC=10.65.2.9 DST=10.65.3.7 LEN=6`,
    expected: { packet: { icmpType: 3 }, inner: { source: '10.65.2.9', destination: '10.65.3.7', incomplete: true } },
  },
  {
    id: 'cut within the destination',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=10.65.1.1 DST=10.65.2`,
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'packet too big',
    text: 'DROP: IN=eth0 OUT= SRC=2001:0db8:0000:0000:0000:0000:0000:0001 DST=2001:0db8:0000:0000:0000:0000:0000:0002 LEN=1280 TC=0 HOPLIMIT=64 FLOWLBL=0 PROTO=ICMPv6 TYPE=2 CODE=0 [SRC=2001:0db8:0000:0000:0000:0000:0000:0002 DST=2001:0db8:0000:0001:0000:0000:0000:0009 LEN=1500 TC=0 HOPLIMIT=63 FLOWLBL=7 PROTO=TCP SPT=443 DPT=51000 WINDOW=501 RES=0x00 ACK URGP=0 ] MTU=1280 ',
    expected: { inner: { source: '2001:db8::2', destination: '2001:db8:0:1::9', sourcePort: 443, ttl: 63 }, mtu: 1280 },
  },
  {
    id: 'an IPv6 fragment',
    text: 'DROP: IN=eth0 OUT= SRC=2001:0db8:0000:0000:0000:0000:0000:0001 DST=2001:0db8:0000:0000:0000:0000:0000:0002 LEN=1280 TC=0 HOPLIMIT=64 FLOWLBL=0 OPT ( FRAG:1448 ID:0000b0c5 ) PROTO=UDP ',
    expected: [flow('UDP', '2001:db8::1', '2001:db8::2'), { packet: { laterFragment: true, incomplete: false } }],
  },
  {
    id: 'a null scan shows a TCP header without a flag',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=192.0.2.1 DST=10.65.2.9 LEN=40 ${ip} PROTO=TCP SPT=4444 DPT=22 WINDOW=1024 RES=0x00 URGP=0 `,
    expected: { packet: { tcpFlags: 0 } },
  },
  {
    id: 'TCP options that could not be read',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=192.0.2.1 DST=10.65.2.9 LEN=60 ${ip} PROTO=TCP SPT=4444 DPT=22 WINDOW=1024 RES=0x00 SYN URGP=0 OPT (TRUNCATED)`,
    expected: { packet: { tcpFlags: 2, incomplete: true } },
  },
  {
    id: 'all flags, and one newer than the others',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=192.0.2.1 DST=10.65.2.9 LEN=40 ${ip} PROTO=TCP SPT=4444 DPT=22 WINDOW=1024 RES=0x00 AE CWR ECE URG ACK PSH RST SYN FIN URGP=1 `,
    expected: { packet: { tcpFlags: 255 } },
  },
  {
    id: '6in4 has a tunnel behind its MAC',
    text: `DROP: IN=sit0 OUT= MAC=02:00:00:00:00:01:02:00:00:00:00:02:08:00:45:00:00:00:00:00 TUNNEL=192.0.2.1->192.0.2.2 SRC=2001:0db8:0000:0000:0000:0000:0000:0001 DST=2001:0db8:0000:0000:0000:0000:0000:0002 LEN=80 TC=0 HOPLIMIT=64 FLOWLBL=0 PROTO=59 `,
    expected: { ...flow('59', '2001:db8::1', '2001:db8::2'), destinationMac: '02:00:00:00:00:01' },
  },
  {
    id: 'a packet that is not IP',
    text: 'bridge-drop: IN=veth1 OUT= MAC=01:80:c2:00:00:00:02:00:00:00:00:02:00:26 ',
    expected: { kind: 'unparsable', format: 'netfilter' },
  },
  {
    id: 'ESP over IPv4',
    text: `DROP: IN=eth0 OUT= ${mac} SRC=192.0.2.1 DST=10.65.2.9 LEN=120 ${ip} PROTO=ESP SPI=0xc41f `,
    expected: flow('ESP', '192.0.2.1', '10.65.2.9'),
  },
  // What is wrong with them is said in meanings.expected.txt.
  ...Object.entries({
    'an address that is none': 'SRC=10.0.0.777 DST=10.0.0.2 PROTO=TCP SPT=1 DPT=2',
    'what is no address, of 60 characters': `SRC=${'x'.repeat(56)} DST=10.0.0.2 PROTO=TCP SPT=1 DPT=2`,
    'what is no address, of 61 characters': `SRC=${'x'.repeat(57)} DST=10.0.0.2 PROTO=TCP SPT=1 DPT=2`,
    'two families': 'SRC=10.0.0.1 DST=fd00::2 PROTO=TCP SPT=1 DPT=2',
    'no destination': 'SRC=10.0.0.1 LEN=60 PROTO=TCP SPT=1 DPT=2',
    'an end within the destination': 'SRC=10.0.0.1 DST=10.0.0.2',
    'a protocol that is none': 'SRC=10.0.0.1 DST=10.0.0.2 PROTO=T+P SPT=1 DPT=2',
    'a protocol past the last': 'SRC=10.0.0.1 DST=10.0.0.2 PROTO=256 SPT=1 DPT=2',
    'a port past the last': 'SRC=10.0.0.1 DST=10.0.0.2 PROTO=TCP SPT=65536 DPT=2',
    'a port that is no number': 'SRC=10.0.0.1 DST=10.0.0.2 PROTO=TCP SPT=65535 DPT=2:',
    'a port of eleven digits': 'SRC=10.0.0.1 DST=10.0.0.2 PROTO=TCP SPT=00000000001 DPT=2',
    'a type of ICMP past the last': 'SRC=10.0.0.1 DST=10.0.0.2 PROTO=ICMP TYPE=256 CODE=0',
    'ARP without addresses': 'ARP HTYPE=1 PTYPE=0x0800 OPCODE=1',
    'ARP with an address that is none': 'ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 IPSRC=10.0.0.1 IPDST=10.0.0.777',
  }).map(([id, text]): Row => ({
    id: `broken: ${id}`,
    text: `DROP: IN=eth0 OUT= ${mac} ${text}`,
    expected: { kind: 'unparsable', format: 'netfilter' },
  })),
  ...Object.entries({
    'in capitals': '0A:58:0A:80:02:37:0A:58:0A:80:02:39:08:00',
    'with a character between digits and letters': '0a:58:0a:80:02:3;:0a:58:0a:80:02:39:08:00',
    'with a letter past f': '0a:58:0a:80:02:3g:0a:58:0a:80:02:39:08:00',
    'of a destination only': '0a:58:0a:80:02:37',
    'cut within the destination': '0a:58:0a:80:02:3',
    'with another separator': '0a:58:0a:80:02-37:0a:58:0a:80:02:39:08:00',
    'whose destination goes on': '0a:58:0a:80:02:377',
  }).map(([id, text]): Row => ({
    id: `a hardware address ${id}`,
    text: `DROP: IN=eth0 OUT= MAC=${text} SRC=10.0.0.1 DST=10.0.0.2 LEN=60 TTL=64 PROTO=TCP SPT=1 DPT=2 SYN`,
    expected: flow('TCP', '10.0.0.1', '10.0.0.2', 1, 2),
  })),
  ...Object.entries({
    'a length and a time to live that are none': 'LEN=4294967296 TTL=256 PROTO=TCP SPT=65535 DPT=0 SYN',
    'the longest length and time to live': 'LEN=4294967295 TTL=255 PROTO=TCP SPT=0 DPT=65535 SYN',
    'the last protocol': 'LEN=60 TTL=1 PROTO=255',
    'no protocol': 'LEN=60 TTL=1',
  }).map(([id, text]): Row => ({
    id: `a packet with ${id}`,
    text: `DROP: IN=eth0 OUT= ${mac} SRC=10.0.0.1 DST=10.0.0.2 ${text}`,
    expected: { kind: 'packet' },
  })),
];
