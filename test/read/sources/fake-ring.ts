import type { Millis } from '../../../src/base/model/log-line.ts';
import type { Device } from '../../../src/read/sources/kmsg/device.ts';

/** A ring buffer that is read like the kernel's (kernel/printk/printk.c, devkmsg_read). */
export interface FakeRing extends Device {
  /** Writes `4,17,5140900,-;text`, with a newline. Returns the number of the record. */
  log: (text: string, options?: { priority?: number; stamp?: Millis }) => number;
  /** Writes one record unchanged. */
  logRaw: (record: string) => void;
  /** Deletes the oldest `count` records. */
  overwrite: (count: number) => void;
  /** The error that opening or reading throws from now on; undefined for none. */
  openError: string | undefined;
  readError: string | undefined;
  /** The reads so far, whatever their result. */
  readonly reads: number;
  /** The number of open descriptors. */
  readonly descriptors: number;
}

/** `stamp`: for records without a stamp of their own, in milliseconds since boot. */
export function fakeRing(stamp: () => Millis, firstNumber = 0): FakeRing {
  const records: Buffer[] = [];
  const cursors = new Map<number, number>();
  let first = firstNumber;
  let lastDescriptor = 100;
  let reads = 0;

  const ring: FakeRing = {
    openError: undefined,
    readError: undefined,
    get reads() {
      return reads;
    },
    get descriptors() {
      return cursors.size;
    },
    log(text, { priority = 4, stamp: at = stamp() } = {}) {
      const number = first + records.length;
      ring.logRaw(`${priority},${number},${Math.round(at * 1000)},-;${text}\n`);
      return number;
    },
    logRaw: (record) => void records.push(Buffer.from(record, 'latin1')),
    overwrite(count) {
      first += records.splice(0, count).length;
    },
    open() {
      if (ring.openError !== undefined) throw systemError(ring.openError);
      cursors.set(++lastDescriptor, first);
      return lastDescriptor;
    },
    read(fd, buffer) {
      reads++;
      if (ring.readError !== undefined) throw systemError(ring.readError);
      const cursor = cursors.get(fd);
      if (cursor === undefined) throw systemError('EBADF');
      const record = records[Math.max(cursor, first) - first];
      if (record === undefined) throw systemError('EAGAIN');
      cursors.set(fd, Math.max(cursor + 1, first));
      if (cursor < first) throw systemError('EPIPE');
      if (record.length > buffer.length) throw systemError('EINVAL');
      return record.copy(buffer);
    },
    close: (fd) => void cursors.delete(fd),
  };
  return ring;
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: as told`), { code });
}
