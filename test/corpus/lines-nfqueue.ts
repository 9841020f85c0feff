import type { Row } from './rows.ts';
import { flow } from './rows.ts';

const logger = 'kube-network-policies';
const head = 'I1121 14:22:48.526613       1';
const evaluating = (packet: string, rest = 'id=9 direction="Egress" srcPod="a/b" dstPod="external" '): string =>
  `${head} logging.go:67] "Evaluating packet" ${rest}packet=<\n\t${packet}\n >`;
const finished = (verdict: string): string =>
  `${head} controller.go:277] "Finished syncing packet" id=9 duration="171.516µs" verdict="${verdict}"`;
const json = (packet: object): string =>
  JSON.stringify({
    ts: 1_720_777_151_838.3552,
    caller: 'networkpolicy/logging.go:67',
    msg: 'Evaluating packet',
    id: 9,
    direction: 'Ingress',
    srcPod: 'a/b',
    dstPod: 'a/c',
    packet: {
      ID: 9,
      Family: 'IPv4',
      SrcIP: '10.0.1.3',
      DstIP: '10.0.2.2',
      Proto: 'TCP',
      SrcPort: 40_243,
      DstPort: 8080,
      ...packet,
    },
  });
const tcp = flow('TCP', '10.0.1.3', '10.0.2.2', 40_243, 8080);
const part = (expected: object): Row['expected'] => ({ kind: 'packet-part', logger, id: '9', part: expected as never });

/** kube-network-policies and kindnet at -v=2. */
export const nfqueueLines: Row[] = [
  { id: 'kube-network-policies, a drop', text: finished('drop'), expected: part('dropped' as never) },
  { id: 'kube-network-policies, an admission', text: finished('accept'), expected: part('accepted' as never) },
  { id: 'kube-network-policies, another verdict', text: finished('unknown'), expected: undefined },
  {
    id: 'kube-network-policies, a packet with its payload',
    text: evaluating(
      '[9] 10.0.1.3:40243 10.0.2.2:8080 TCP\n\t00000000  00 00 a0 02 fa f0 19 33  00 00 02 04 05 b4 04 02  |.......3........|',
    ),
    expected: part({ ...tcp, logger, verdict: 'logged', enforcer: 'network-policy', policySide: 'sender' }),
  },
  {
    id: 'kube-network-policies, a packet of IPv6',
    text: evaluating('[9] fd00:10:244::32:60362 fd00:10:244:1::15:8080 UDP'),
    expected: part(flow('UDP', 'fd00:10:244::32', 'fd00:10:244:1::15', 60_362, 8080)),
  },
  {
    id: 'kube-network-policies, a packet of another protocol',
    text: evaluating('[9] 10.0.1.3:0 10.0.2.2:0 '),
    expected: part({ packet: { protocol: '', sourcePort: undefined, destinationPort: undefined, incomplete: true } }),
  },
  {
    id: 'kube-network-policies, a packet at -v=4',
    text: `${head} controller.go:433] "Evaluating packet" packet="[9] 10.0.1.3:40243 10.0.2.2:8080 TCP\\n"`,
    expected: part({ ...tcp, policySide: undefined }),
  },
  {
    id: 'kube-network-policies 0.8, without number and direction',
    text: `${head} controller.go:567] "Evaluating packet" srcPod="repro/both" dstPod="none" packet=<\n\t[9] 10.0.1.3:40243 10.0.2.2:8080 TCP\n >`,
    expected: part({ ...tcp, policySide: undefined }),
  },
  {
    id: 'kube-network-policies 0.6, a packet',
    text: `${head} controller.go:487] Evaluating packet [9] 10.0.1.3:40243 10.0.2.2:8080 TCP\n00000000  61 62 0a  |ab.|`,
    expected: part(tcp),
  },
  {
    id: 'kube-network-policies 0.6, a drop',
    text: `${head} controller.go:439] Finished syncing packet 9 took: 171.516µs accepted: false`,
    expected: part('dropped' as never),
  },
  {
    id: 'kube-network-policies 0.6, an admission',
    text: `${head} controller.go:439] Finished syncing packet 9 took: 171.516µs accepted: true`,
    expected: part('accepted' as never),
  },
  { id: 'kube-network-policies as JSON, a packet', text: json({}), expected: part({ ...tcp, policySide: 'receiver' }) },
  {
    id: 'kube-network-policies as JSON, a drop',
    text: '{"ts":1720777151838.4001,"caller":"dataplane/controller.go:277","msg":"Finished syncing packet","v":2,"id":9,"duration":"171.516µs","verdict":"drop"}',
    expected: part('dropped' as never),
  },
  {
    id: 'kube-network-policies as JSON, an address that is none',
    text: json({ SrcIP: '10.0.1.300' }),
    expected: { kind: 'unparsable', format: logger },
  },
  {
    id: 'kube-network-policies as JSON, objects for addresses',
    text: json({ SrcIP: { toString: 1 }, ID: 9 }),
    expected: { kind: 'unparsable', format: logger },
  },
  {
    id: 'kube-network-policies, a packet without addresses',
    text: evaluating('[9] TCP'),
    expected: { kind: 'unparsable', format: logger },
  },
  {
    id: 'kube-network-policies, its DNS cache, which counts packets of its own',
    text: `${head} dnsagent.go:95] "Evaluating packet" packet=<\n\t[9] 10.0.1.3:40243 10.0.2.2:53 UDP\n >`,
    expected: undefined,
  },
  {
    id: 'kube-network-policies, what it evaluates',
    text: `${head} engine.go:68] "Packet denied by ingress policy" id=9`,
    expected: undefined,
  },
  {
    id: 'the same words of another program',
    text: 'Evaluating packet [9] 10.0.1.3:1 10.0.2.2:2 TCP',
    expected: undefined,
  },
];
