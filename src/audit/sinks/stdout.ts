import { writeAll } from '../../platform/write-all.ts';
import type { Sink } from '../sink.ts';

/** Rows between the lines of the program's own log: a row has `event.name`, a line of the log has `msg`. */
export function createStdoutSink(write: (text: string) => void = (text) => writeAll(1, text)): Sink {
  return {
    name: 'stdout',
    most: 500,
    send: (rows) => {
      write(rows.join(''));
      return Promise.resolve(0);
    },
    close: () => Promise.resolve(),
  };
}
