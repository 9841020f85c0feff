/**
 * The other readers of `loss.ts`, with the arguments of `test/soak/reader.ts`. They save no position, because they
 * are not killed.
 *
 *     node test/bench/loss-reader.ts --reader tail|polling --path kern.log --snapshot FILE
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Tail } from 'tail';
import { createRecorder } from '../soak/record.ts';

const { values } = parseArgs({
  options: { reader: { type: 'string' }, path: { type: 'string' }, snapshot: { type: 'string' } },
});
const { path = 'kern.log', snapshot = 'snapshot.json' } = values;

const { listener, save } = createRecorder(snapshot);
const onLine = (text: string): void => listener.take({ text });
const onError = (error: unknown): void => listener.notice({ level: 'error', key: 'error', text: String(error) });
if (values.reader === 'tail') followWithTail();
else poll();
const write = (): void => save(undefined, 'reading');
process.once('SIGTERM', () => {
  write();
  process.exit();
});
setInterval(write, 100);

/** As the package's own README uses it. */
function followWithTail(): void {
  const tail = new Tail(path);
  tail.on('line', onLine);
  tail.on('error', onError);
}

/**
 * As kube-iptables-tailer does (drop/watcher.go): every 5 s it opens the path again and reads to the end, from where
 * the last read ended, or from the start if the first 64 bytes have changed. The part of a line that is still being
 * written counts as a line.
 */
function poll(): void {
  const block = Buffer.alloc(64 * 1024);
  let fingerprint = '';
  let offset = 0;
  setInterval(() => {
    let fd: number | undefined;
    try {
      fd = openSync(path, 'r');
      const found = block.toString('latin1', 0, readSync(fd, block, 0, 64, 0));
      if (found.length < 64) return;
      if (found !== fingerprint) offset = 0;
      fingerprint = found;
      let rest = '';
      for (let length; (length = readSync(fd, block, 0, block.length, offset)) > 0; offset += length) {
        const lines = (rest + block.toString('latin1', 0, length)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) onLine(line);
      }
      if (rest !== '') onLine(rest);
    } catch (error) {
      onError(error);
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }, 5000);
}
