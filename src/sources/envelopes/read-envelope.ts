import { parsedBytes } from '../../platform/json.ts';
import type { Clock } from './clock.ts';
import {
  type Envelope,
  newEnvelope,
  readKernelTag,
  readKmsg,
  readTag,
  setProgram,
  setTime,
  takeOff,
} from './envelope.ts';
import { namedContainer } from './named-container.ts';
import { readDmesg, readMonthStamp, readNumericStamp } from './stamps.ts';

/** Real envelopes nest three deep (CRI around RFC 3164 around uptime). More than this is hostile. */
const maxLayers = 6;

/** Removes what log daemons, container runtimes and collectors put around a line. Never throws. */
export function readEnvelope(line: string, clock: Clock): Envelope {
  const envelope = newEnvelope(line.startsWith('\u00ef\u00bb\u00bf') ? line.slice(3) : line);
  takeLayers(envelope, clock, 0);
  return envelope;
}

export function readJournalFields(fields: { readonly [name: string]: string }, clock: Clock): Envelope {
  const envelope = newEnvelope('');
  readJournal(envelope, fields);
  takeLayers(envelope, clock, 1);
  return envelope;
}

function takeLayers(envelope: Envelope, clock: Clock, first: number): void {
  for (let depth = first; depth < maxLayers; depth++) {
    const before = envelope.text;
    takeLayer(envelope, clock);
    // Talos writes node, facility and level only at the very start. Further on, such a text would be a LOG prefix.
    if (depth === 0 && envelope.text === before) readTalos(envelope, clock);
    if (envelope.text === before) readTag(envelope);
    if (envelope.text === before) break;
  }
}

function takeLayer(envelope: Envelope, clock: Clock): void {
  const first = envelope.text.charCodeAt(0);
  if (first === 0x5b /* [ */) return readDmesg(envelope, clock);
  if (first === 0x3c /* < */) return readPriority(envelope);
  if (first === 0x7b /* { */) return readJson(envelope, clock);
  if (first === 0x20 || first === 0x09) {
    envelope.text = envelope.text.trimStart();
    return;
  }
  if (first >= 0x30 && first <= 0x39) return readKmsg(envelope, clock) ? undefined : readNumericStamp(envelope, clock);
  if (first >= 0x41 && first <= 0x5a) return readMonthStamp(envelope, clock);
  if (first >= 0x61 && first <= 0x7a) {
    readKernelTag(envelope);
    // `dmesg -x` writes the facility only at the very start. Further on, such a text would be a LOG prefix.
    if (envelope.layers.length === 0) readDecoded(envelope);
  }
}

/** Reads a syslog priority, `<4>`: facility * 8 + severity (RFC 3164, 4.1.1). Facility 0 means the kernel. */
function readPriority(envelope: Envelope): void {
  const found = /^<(\d{1,3})>(?:1 (?=\d{4}-))?/.exec(envelope.text);
  if (!found) return;
  envelope.text = envelope.text.slice(found[0].length);
  if (Number(found[1]) >> 3 !== 0) envelope.origin = 'userspace';
  envelope.layers.push('syslog priority');
}

const talos =
  /^(?:([A-Za-z0-9][A-Za-z0-9._:%-]{0,254}): )?(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d): {1,7}[a-z]{3,7}: \[(\d[^\]]{18,40})\]: /;

/**
 * Reads `talosctl dmesg` and `talosctl logs kernel` of Talos Linux: `10.0.1.2: kern: warning: [2026-11-21T03:42:11.123456789Z]: …`. The
 * node's name is the one that was asked for (`Dmesg` in machined's v1alpha1 server). Other facilities are not the kernel's.
 */
function readTalos(envelope: Envelope, clock: Clock): void {
  const found = talos.exec(envelope.text);
  if (!found) return;
  const [whole, node, facility, stamp = ''] = found;
  const inner: Envelope = { ...envelope, text: stamp, time: undefined, layers: [] };
  readNumericStamp(inner, clock);
  if (inner.time === undefined) return;
  setTime(envelope, inner.time);
  if (node !== undefined) envelope.host = node;
  if (facility !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, whole.length, 'talosctl dmesg');
}

/** Reads `dmesg -x`: `kern  :warn  : [ 1156.246182] …`. Other facilities are not the kernel's. */
function readDecoded(envelope: Envelope): void {
  const found =
    /^(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) {0,6}:[a-z]{3,6} {0,4}: ?/.exec(
      envelope.text,
    );
  if (!found) return;
  if (found[1] !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, found[0].length, 'dmesg -x');
}

type JsonRecord = { [key: string]: unknown };

/** Reads JSON of journald, Docker's json-file and collectors. If the JSON is itself the message (ulogd), it stays as it is. */
function readJson(envelope: Envelope, clock: Clock): void {
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

/** Fluent Bit calls the program of a syslog `ident`, Vector calls it `appname`; many name the container whose output it is. */
function readWriter(envelope: Envelope, record: JsonRecord): void {
  const program = record['ident'] ?? record['appname'];
  if (typeof program === 'string') setProgram(envelope, program);
  const container = namedContainer(record, record['log'] ?? record['message']);
  if (container === undefined) return;
  // A container is never the kernel, whatever its program is called.
  envelope.origin = 'userspace';
  envelope.container ??= container;
  envelope.program ??= container.container;
}

/** Reads a record that is itself the message. Hubble writes its node as `cluster/node`. */
function readMessage(envelope: Envelope, record: JsonRecord, clock: Clock): void {
  const node = record['node_name'];
  if (typeof node === 'string' && node !== '') envelope.host = node.slice(node.lastIndexOf('/') + 1);
  setTime(envelope, ownTimeOf(record, envelope, clock));
}

/** The logger's own time. ulogd has the kernel's beside its own, which may lack the zone; zap `ts`, Hubble `time`, Calico `start_time`. */
function ownTimeOf(record: JsonRecord, envelope: Envelope, clock: Clock): number | undefined {
  const { 'oob.time.sec': seconds, 'oob.time.usec': micros } = record;
  if (typeof seconds === 'number' && seconds > 0)
    return seconds * 1000 + (typeof micros === 'number' ? micros / 1000 : 0);
  return timeOf(record['timestamp'] ?? record['ts'] ?? record['time'] ?? record['start_time'], envelope, clock);
}

/** The size of a number since 1970 shows whether it counts seconds (Fluent Bit), milli-, micro- or nanoseconds. */
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

function readJournal(envelope: Envelope, record: Readonly<JsonRecord>): void {
  const message = record['MESSAGE'];
  // journald writes a message that is not UTF-8 as an array of bytes, and one that is too large as null.
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
  // Programs that write to /dev/kmsg also have the transport "kernel", but neither the kernel's facility nor its identifier.
  const facility = record['SYSLOG_FACILITY'];
  const fromKernel = transport === 'kernel' && (facility === undefined || facility === '0') && identifier === 'kernel';
  // Only journald writes fields with an underscore. A container's root has UID 0 here, too, but cannot reach the journal's socket.
  const fromUlogd = record['_COMM'] === 'ulogd' && record['_UID'] === '0';
  if (!fromKernel && !fromUlogd) envelope.origin = 'userspace';
  // Any program may write a message that looks like such a record, so an outer origin stays.
  else if (envelope.origin === 'unknown') envelope.origin = 'kernel';
  // Set a name in any case, so that a name in a message to /dev/kmsg is not believed.
  envelope.program ??= fromUlogd ? 'ulogd' : (program ?? 'unnamed');
}

/** A program chooses its identifier, but not its process name, of which the kernel keeps 15 bytes. So the two must agree. */
function programOf({ SYSLOG_IDENTIFIER: identifier, _COMM: process }: Readonly<JsonRecord>): string | undefined {
  const seen = typeof process === 'string' ? process : undefined;
  if (typeof identifier !== 'string') return seen;
  return seen === undefined || seen === identifier.slice(0, 15) ? identifier : seen;
}

/** The kernel's clock is not adjusted, so it may be wrong by minutes in a month (see `createKernelClock`), but not more. */
const drift = 1 / 5000;

/** Returns the microseconds between the kernel's writing and journald's reading of a record. A starting journald reads old records. */
function delayOf(record: Readonly<JsonRecord>): number {
  const taken = Number(record['__MONOTONIC_TIMESTAMP']);
  const delay = taken - Number(record['_SOURCE_MONOTONIC_TIMESTAMP']);
  return delay > taken * drift ? delay : 0;
}

function parseRecord(text: string): JsonRecord | undefined {
  if (!text.endsWith('}')) return undefined;
  const value = parsedBytes(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonRecord) : undefined;
}
