import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Row {
  id: string;
  /** The message without its envelope. */
  text: string;
}

/** The value of `$SYN` in the files: a TCP SYN that is forwarded from one Pod to another, without the LOG prefix. */
const syn =
  'IN=cali0123456789a OUT=calic440f455693 MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=10.65.1.4 DST=10.65.2.9 ' +
  'LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=52301 DF PROTO=TCP SPT=40112 DPT=8443 WINDOW=64240 RES=0x00 SYN URGP=0 ';

const hubble = {
  verdict: 'DROPPED',
  IP: { source: '10.0.1.235', destination: '10.0.0.21', ipVersion: 'IPv4' },
  l4: { TCP: { source_port: 60_524, destination_port: 80, flags: { SYN: true } } },
  event_type: { type: 1 },
  drop_reason_desc: 'POLICY_DENIED',
};
const labels = Array.from({ length: 1500 }, (_, index) => `k8s:label-${index}=${'x'.repeat(24)}`);

/** A line `= NAME` begins a row; its text follows, up to the next row or comment. */
export function rowsIn(file: string): Row[] {
  const rows = readFileSync(file, 'utf8')
    .replaceAll(/^# .*\n/gm, '')
    .split(/^= /m);
  return rows.slice(1).map((row) => {
    const [id = '', ...lines] = row.replace(/\n$/, '').split('\n');
    return { id, text: lines.join('\n').replace('$SYN', syn) };
  });
}

/** Lines of the shapes that are met in the field, one for each easy mistake; meanings.expected.txt has the result of each. */
export const lines: readonly Row[] = [
  ...readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.log'))
    .toSorted()
    .flatMap((file) => rowsIn(join(import.meta.dirname, file))),
  {
    id: 'Hubble, a name of a host that is endless',
    text: JSON.stringify({ flow: { ...hubble, destination_names: ['a'.repeat(60_000)] }, node_name: 'shop/node-b' }),
  },
  {
    id: 'Hubble, 60 KiB of labels',
    text: JSON.stringify({ flow: { ...hubble, source: { labels } }, node_name: 'shop/node-b' }),
  },
];
