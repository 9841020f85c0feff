import { parsedBytes } from '../../platform/json.ts';
import type { Clock } from './clock.ts';
import { type Envelope, setTime } from './envelope.ts';
import { setProgram } from './host.ts';
import { readNumericStamp } from './numeric.ts';

type Record = { [key: string]: unknown };

/** JSON of journald, Docker's json-file and collectors; of JSON that is itself the message (ulogd's) only the time is taken. */
export function readJson(envelope: Envelope, clock: Clock): void {
  const record = parseRecord(envelope.text);
  if (!record) return;
  if ('MESSAGE' in record) return readJournal(envelope, record);
  const text = record['log'] ?? record['message'];
  if (typeof text !== 'string') return readMessage(envelope, record, clock);
  envelope.text = text.endsWith('\n') ? text.slice(0, -1) : text;
  envelope.layers.push('stream' in record ? 'Docker JSON' : 'JSON');
  readWriter(envelope, record);
  const host = record['hostname'] ?? record['host'];
  if (typeof host === 'string' && host !== '') envelope.host = host;
  setTime(
    envelope,
    timeOf(record['time'] ?? record['timestamp'] ?? record['@timestamp'] ?? record['date'], envelope, clock),
  );
}

/** Fluent Bit calls the program of a syslog `ident`, Vector `appname`; both name the container whose output it is. */
function readWriter(envelope: Envelope, { ident, appname, kubernetes }: Record): void {
  const program = ident ?? appname;
  if (typeof program === 'string') setProgram(envelope, program);
  if (typeof kubernetes !== 'object' || kubernetes === null) return;
  // No program of any name is the kernel.
  envelope.origin = 'userspace';
  const name = (kubernetes as Record)['container_name'];
  if (typeof name === 'string') envelope.program ??= name;
}

/** A record that is itself the message. Hubble names its node `cluster/node`. */
function readMessage(envelope: Envelope, record: Record, clock: Clock): void {
  const node = record['node_name'];
  if (typeof node === 'string' && node !== '') envelope.host = node.slice(node.lastIndexOf('/') + 1);
  setTime(envelope, ownTimeOf(record, envelope, clock));
}

/** ulogd has the kernel's time beside its own, which may lack the zone; zap, in which agents log, has `ts`, Hubble `time`, a flow of Calico `start_time`. */
function ownTimeOf(record: Record, envelope: Envelope, clock: Clock): number | undefined {
  const { 'oob.time.sec': seconds, 'oob.time.usec': micros } = record;
  if (typeof seconds === 'number' && seconds > 0)
    return seconds * 1000 + (typeof micros === 'number' ? micros / 1000 : 0);
  return timeOf(record['timestamp'] ?? record['ts'] ?? record['time'] ?? record['start_time'], envelope, clock);
}

/** A stamp as text, or since 1970 as a number: seconds (Fluent Bit), milliseconds, microseconds or nanoseconds, by its size. */
function timeOf(stamp: unknown, envelope: Envelope, clock: Clock): number | undefined {
  if (typeof stamp === 'number') return millisOf(stamp);
  if (typeof stamp !== 'string') return undefined;
  const inner: Envelope = { ...envelope, text: stamp, time: undefined, layers: [] };
  readNumericStamp(inner, clock);
  return inner.time;
}

function millisOf(stamp: number): number {
  const size = Math.abs(stamp);
  if (size < 1e11) return stamp * 1000;
  if (size < 1e14) return stamp;
  return size < 1e17 ? stamp / 1000 : stamp / 1e6;
}

/** Fields as in `journalctl -o json` (systemd.journal-fields(7)). */
export function readJournal(envelope: Envelope, record: Readonly<Record>): void {
  const message = record['MESSAGE'];
  // Bytes that are no UTF-8 come as an array of numbers, a message too large as null.
  if (Array.isArray(message))
    envelope.text = Buffer.from(message.filter((byte) => typeof byte === 'number')).toString('latin1');
  else if (typeof message === 'string') envelope.text = message;
  else return;
  envelope.layers.push('journald JSON');
  const host = record['_HOSTNAME'];
  if (typeof host === 'string' && host !== '') envelope.host = host;
  const micros = Number(record['__REALTIME_TIMESTAMP'] ?? record['_SOURCE_REALTIME_TIMESTAMP']);
  setTime(envelope, (micros - delayOf(record)) / 1000);
  const transport = record['_TRANSPORT'];
  const program = programOf(record);
  if (typeof transport !== 'string') {
    if (program !== undefined) setProgram(envelope, program);
    return;
  }
  const identifier = record['SYSLOG_IDENTIFIER'];
  // Programs that write to /dev/kmsg have the transport "kernel" too, but neither its facility nor its identifier.
  const facility = record['SYSLOG_FACILITY'];
  const fromKernel = transport === 'kernel' && (facility === undefined || facility === '0') && identifier === 'kernel';
  // Fields with an underscore are journald's own word. A container's root is root here too, but has no journal socket.
  const fromUlogd = record['_COMM'] === 'ulogd' && record['_UID'] === '0';
  if (!fromKernel && !fromUlogd) envelope.origin = 'userspace';
  // Anybody may write a message that looks like such a record.
  else if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  // Named in any case: else what a message to /dev/kmsg says of its writer would be believed.
  envelope.program ??= fromUlogd ? 'ulogd' : (program ?? 'unnamed');
}

/** Everybody chooses his identifier, but not what journald has seen: the name of the process, of which the kernel keeps 15 bytes. */
function programOf({ SYSLOG_IDENTIFIER: identifier, _COMM: process }: Readonly<Record>): string | undefined {
  const seen = typeof process === 'string' ? process : undefined;
  if (typeof identifier !== 'string') return seen;
  return seen === undefined || seen === identifier.slice(0, 15) ? identifier : seen;
}

/** The kernel stamps its records by a clock that is not disciplined: minutes in a month (see `createKernelClock`), but not more. */
const drift = 1 / 5000;

/** Microseconds between the kernel's writing of a record and journald's taking it: a journald that starts takes in what is old. */
function delayOf(record: Readonly<Record>): number {
  const taken = Number(record['__MONOTONIC_TIMESTAMP']);
  const delay = taken - Number(record['_SOURCE_MONOTONIC_TIMESTAMP']);
  return delay > taken * drift ? delay : 0;
}

function parseRecord(text: string): Record | undefined {
  if (!text.endsWith('}')) return undefined;
  const value = parsedBytes(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record) : undefined;
}
