/** `--output html`: the page of `report` on the packets and Events of this run. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { CoreEvent } from '../../events/event.ts';
import { createWorkFolder, writeTemporary } from '../../report/work-folder.ts';
import type { ReportCommandOptions } from '../options/report-options.ts';
import type { report } from '../report.ts';
import type { Streams } from '../terminal.ts';

/** Rows are written in blocks of so many characters. */
const blockLength = 1 << 16;

export interface Page {
  /** One row of the audit. */
  add: (row: string) => void;
  /** Prints the page. Resolves to the exit status of `report`. */
  print: (events: readonly CoreEvent[], options: { includeNoise: boolean }, streams: Streams) => Promise<0 | 1 | 2>;
  /** Removes what it has on disk. */
  remove: () => void;
}

export function createPage(printReport: typeof report): Page {
  const { path: folder, remove } = createWorkFolder();
  const [rows, eventsFile] = [join(folder, 'packets.ndjson'), join(folder, 'events.json')];
  const file = openSync(rows, 'wx');
  let block = '';

  return {
    add(row) {
      block += row;
      if (block.length >= blockLength) flush();
    },
    async print(events, { includeNoise }, streams) {
      flush();
      closeSync(file);
      const eventsAt = openSync(eventsFile, 'wx');
      writeTemporary(eventsAt, JSON.stringify({ items: events }));
      closeSync(eventsAt);
      const options: ReportCommandOptions = {
        rows: [rows],
        baseline: [],
        events: [eventsFile],
        output: 'html',
        db: undefined,
        includeNoise,
        policy: [],
        mayBeEmpty: true,
      };
      return await printReport(options, streams);
    },
    remove,
  };

  function flush(): void {
    writeTemporary(file, block);
    block = '';
  }
}
