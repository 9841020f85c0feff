import { flow, type Row } from './rows.ts';

const logger = 'calico-bpf';
const rest = 'proto 6 src 10.65.0.2:43553 dest 10.65.0.3:8055';
const tcp = { ...flow('TCP', '10.65.0.2', '10.65.0.3', 43_553, 8055), logger };

/** `action: Log` of Calico's eBPF data plane. */
export const calicoBpfLines: Row[] = [
  {
    id: 'Calico eBPF, denied by ingress policies',
    text: `cali8d1e69e5f89-I: policy DENIED  ${rest}`,
    expected: { ...tcp, verdict: 'dropped', policySide: 'receiver', inInterface: '', outInterface: 'cali8d1e69e5f89' },
  },
  {
    id: 'Calico eBPF, denied by egress policies',
    text: `cali8d1e69e5f89-E: policy DENIED  ${rest}`,
    expected: { ...tcp, verdict: 'dropped', policySide: 'sender', inInterface: 'cali8d1e69e5f89', outInterface: '' },
  },
  {
    id: 'Calico eBPF, allowed',
    text: 'cali8d1e69e5f89-E: policy ALLOWED proto 17 src 10.65.0.3:46519 dest 172.18.0.6:8055',
    expected: { ...flow('UDP', '10.65.0.3', '172.18.0.6', 46_519, 8055), verdict: 'accepted' },
  },
  {
    id: 'Calico eBPF, denied at a device of the host',
    text: `eth0-I: policy DENIED  ${rest}`,
    expected: { ...tcp, policySide: 'receiver', inInterface: 'eth0', outInterface: '' },
  },
  {
    id: 'Calico eBPF, denied on the way out of a device of the host',
    text: `eth0-E: policy DENIED  ${rest}`,
    expected: { ...tcp, policySide: 'sender', inInterface: '', outInterface: 'eth0' },
  },
  {
    id: 'Calico eBPF, denied by XDP',
    text: `eth0-X: policy DENIED  ${rest}`,
    expected: { ...tcp, policySide: 'receiver', inInterface: 'eth0' },
  },
  {
    id: 'Calico eBPF, IPv6',
    text: 'cali8d1e69e5f89-I: policy DENIED  proto 58 src fd00:0010:0244:0000:0000:0000:0000:0032:0 dest fd00:0010:0244:0001:0000:0000:0000:0015:0',
    expected: { ...flow('ICMPv6', 'fd00:10:244::32', 'fd00:10:244:1::15'), logger },
  },
  {
    id: 'Calico eBPF, an address that is none',
    text: 'cali8d1e69e5f89-I: policy DENIED  proto 6 src 10.65.0.777:1 dest 10.65.0.3:8055',
    expected: { kind: 'unparsable', format: logger },
  },
  {
    id: 'Calico eBPF, on a kernel that prints the verdict alone',
    text: 'cali8d1e69e5f89-I: DENIED',
    expected: undefined,
  },
  { id: 'Calico eBPF, in the middle of a line', text: `x y-I: policy DENIED  ${rest}`, expected: undefined },
];
