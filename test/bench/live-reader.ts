/**
 * Follows one live source as the agent does. At SIGTERM, prints how long lines took from being logged to being
 * handed over, according to their stamps, in milliseconds, sorted.
 *
 *     node test/bench/live-reader.ts kernel|journal:DIRECTORY|file:PATH MARK
 */
import { needlesOfAll } from '../../src/read/parsing/formats.ts';
import { createJournal } from '../../src/read/sources/journald/journal.ts';
import { createKernelRing } from '../../src/read/sources/kmsg/kernel-ring.ts';
import type { Source, SourceListener } from '../../src/read/sources/source.ts';
import { createFollowFile } from '../../src/read/sources/tail/follow-file.ts';

const [setting = '', mark = ''] = process.argv.slice(2);
const took: number[] = [];
const listener: SourceListener = {
  take({ text, time }) {
    if (text.includes(mark)) took.push(Date.now() - time);
  },
  lost: ({ reason }) => console.error(reason),
  notice: ({ text }) => console.error(text),
};
const source = open(setting.split(':')[0] ?? '', setting.slice(setting.indexOf(':') + 1));
source.start();
const look = setInterval(() => {
  if (source.state !== 'reading') return;
  clearInterval(look);
  process.stdout.write('{"state":"reading"}\n');
}, 50);
process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify({ took: took.toSorted((a, b) => a - b) })}\n`, () => process.exit());
});

function open(kind: string, place: string): Source {
  const common = { saved: undefined, listener, needles: needlesOfAll };
  if (kind === 'file') return createFollowFile({ ...common, path: place, from: 'end' });
  if (kind === 'journal') return createJournal({ ...common, directory: place, since: Date.now() });
  return createKernelRing({ ...common, since: Date.now() });
}
