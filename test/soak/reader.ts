/**
 * Follows a log as the agent does: every 100 ms the position and the counts are written to disk together, and they
 * are restored together. It may be killed at any moment; SIGTERM lets it write a last snapshot.
 *
 *     node test/soak/reader.ts --path kern.log --snapshot FILE
 */
import { parseArgs } from 'node:util';
import { createFollowFile } from '../../src/read/sources/tail/follow-file.ts';
import { createRecorder } from './record.ts';

const interval = 100;

const { values } = parseArgs({ options: { path: { type: 'string' }, snapshot: { type: 'string' } } });
const { path = 'kern.log', snapshot = 'snapshot.json' } = values;

const recorder = createRecorder(snapshot);
const source = createFollowFile({
  path,
  needles: ['IN='],
  saved: recorder.position,
  from: 'start',
  listener: recorder.listener,
});
const save = (): void => recorder.save(source.position, source.state);

process.once('SIGTERM', () => {
  save();
  source.stop();
  process.exit();
});
source.start();
setInterval(save, interval);
