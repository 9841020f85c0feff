/** Reads records of journald, as fields or as JSON. */
import { type Envelope, setProgram, setTime } from './envelope.ts';
import type { JsonRecord } from './json-fields.ts';

/** Returns false if the record has no message. */
export function readJournal(envelope: Envelope, record: JsonRecord): boolean {
  const message = record['MESSAGE'];
  // journald writes a message that is not UTF-8 as an array of bytes, and one that is too large as null.
  if (Array.isArray(message))
    envelope.text = Buffer.from(message.filter((byte) => typeof byte === 'number')).toString('latin1');
  else if (typeof message === 'string') envelope.text = message;
  else return false;
  envelope.layers.push('journald JSON');
  const host = record['_HOSTNAME'];
  if (typeof host === 'string' && host !== '') envelope.host = host;
  const micros = Number(record['__REALTIME_TIMESTAMP'] ?? record['_SOURCE_REALTIME_TIMESTAMP']);
  setTime(envelope, (micros - delayOf(record)) / 1000);
  const transport = record['_TRANSPORT'];
  const program = programOf(record);
  if (typeof transport !== 'string') {
    if (program !== undefined) setProgram(envelope, program);
    return true;
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
  return true;
}

/** A program chooses its identifier, but not its process name, of which the kernel keeps 15 bytes. So the two must agree. */
function programOf({ SYSLOG_IDENTIFIER: identifier, _COMM: process }: JsonRecord): string | undefined {
  const seen = typeof process === 'string' ? process : undefined;
  if (typeof identifier !== 'string') return seen;
  return seen === undefined || seen === identifier.slice(0, 15) ? identifier : seen;
}

/** The kernel's clock is not adjusted, so it may be wrong by minutes in a month (see `createKernelClock`), but not more. */
const drift = 1 / 5000;

/** Returns the microseconds between the kernel's writing and journald's reading of a record. A starting journald reads old records. */
function delayOf(record: JsonRecord): number {
  const taken = Number(record['__MONOTONIC_TIMESTAMP']);
  const delay = taken - Number(record['_SOURCE_MONOTONIC_TIMESTAMP']);
  return delay > taken * drift ? delay : 0;
}
