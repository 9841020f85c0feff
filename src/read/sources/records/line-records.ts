/** Joins the lines of records if each line has its own envelope, for several writers in one log. */
import { hasKlogHeader, readLogrusHeader } from '../../../base/log-formats/go-loggers.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Envelope } from '../envelopes/envelope.ts';
import type { Timing } from '../source.ts';
import { createRecordJoiner, type RecordJoiner } from './joiner.ts';

/** The most writers whose records wait at a time. */
const maxWriters = 64;

interface Writer {
  joiner: RecordJoiner;
  /** The envelope of the record's first line. */
  first: Envelope;
}

export interface LineRecordsOptions {
  /** `envelope`: that of the first line, with the text of the record. */
  onRecord: (envelope: Envelope, number: number) => void;
  timing: Omit<Timing, 'wall'>;
}

export interface LineRecords {
  /** Whether a record waits, so that the next line is needed whatever it contains. */
  readonly isOpen: boolean;
  /** Returns false for a line outside records of several lines. */
  take: (envelope: Envelope, number: number) => boolean;
  finish: () => void;
}

export function createLineRecords({ onRecord, timing }: LineRecordsOptions): LineRecords {
  const writers = new Map<string, Writer>();
  const counts = { cut: 0, dangling: 0 };

  return {
    get isOpen() {
      return writers.size > 0;
    },
    take(envelope, number) {
      const { text, time, origin, writer: name } = envelope;
      const isOfCalico = origin !== 'kernel' && readLogrusHeader(text) !== undefined;
      const begins = isOfCalico || (origin !== 'kernel' && hasKlogHeader(text));
      // An indented line continues its record whatever its stamp, which a collector may have set.
      if (writers.size > 0 && time !== undefined)
        finishBefore(time, begins || envelope.indent === '' ? undefined : name);
      const writer = writers.get(name);
      if (!begins && (writer === undefined || origin === 'kernel' || text.includes('IN='))) return false;
      // Such a record has its own stamp, and its other lines may have a collector's.
      const line = { text: begins ? text : envelope.indent + text, time: isOfCalico ? undefined : time, number };
      (writer ?? add(name, envelope)).joiner.take(line, false, true);
      const taken = writers.get(name);
      if (begins && taken !== undefined) taken.first = envelope;
      if (taken?.joiner.isOpen === false) writers.delete(name);
      return true;
    },
    finish(): void {
      for (const [name, { joiner }] of writers) {
        joiner.finish();
        writers.delete(name);
      }
    },
  };

  function add(name: string, first: Envelope): Writer {
    for (const [oldest, { joiner }] of writers) {
      if (writers.size < maxWriters) break;
      joiner.finish();
      writers.delete(oldest);
    }
    const joiner = createRecordJoiner({
      saved: undefined,
      onRecord: ({ text, number }) => onRecord({ ...writer.first, text }, number),
      timing,
      counts,
    });
    const writer: Writer = { first, joiner };
    writers.set(name, writer);
    return writer;
  }

  function finishBefore(time: Millis, exception: string | undefined): void {
    for (const [name, { joiner }] of writers) {
      if (name === exception) continue;
      joiner.finishBefore(time);
      if (!joiner.isOpen) writers.delete(name);
    }
  }
}
