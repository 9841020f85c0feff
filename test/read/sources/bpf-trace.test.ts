import { expect, test } from 'vitest';
import { createBpfTrace, bpfTraceObstacle } from '../../../src/read/sources/tracefs/trace.ts';
import type { Device } from '../../../src/read/sources/kmsg/device.ts';
import { fakeTime } from './fake-time.ts';
import { type Heard, listening } from './heard.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Tests how the trace of BPF programs is read. test/e2e/bpf tests it with a kernel. */

const folder = temporaryFolder();
const start = 1_795_226_670_000;
/** The time since boot when the test begins. */
const uptime = 5000;

/** Reads these pieces of trace_pipe, one at each read. */
function read(...pieces: string[]): Heard {
  const { heard, source, time } = reading(pieces);
  time.advance(500);
  source.stop();
  return heard;
}

function reading(pieces: string[]) {
  const { heard, listener } = listening();
  const time = fakeTime(start);
  const device: Device = {
    open: () => 1,
    read(_, buffer) {
      const piece = pieces.shift();
      if (piece === undefined) throw Object.assign(new Error('none'), { code: 'EAGAIN' });
      return buffer.write(piece, 'latin1');
    },
    close: () => {},
  };
  const monotonic = (): number => uptime + time.elapsed();
  const source = createBpfTrace({ tracefs: '/nowhere', listener, timing: time, monotonic, device });
  source.start();
  return { heard, source, time };
}

const denied = 'cali8d1e69e5f89-I: policy DENIED  proto 6 src 10.65.0.2:43553 dest 10.65.0.3:8055';
const printed = (text: string, task = '           <...>-1234 ', stamp = '4.970478'): string =>
  `${task}   [001] b..11     ${stamp}: bpf_trace_printk: ${text}\n`;

test('a line has the printed text, the time of its stamp, and a BPF program as its writer', () => {
  const { lines, losses } = read(printed(denied));
  expect(lines).toMatchObject([
    { text: denied, time: start - 29.522, timeIsExact: true, program: 'bpf', origin: 'kernel', line: 1 },
  ]);
  expect(losses).toEqual([]);
});

test('lines that a read cuts anywhere are joined', () => {
  const whole = printed(denied) + printed('another');
  for (let at = 1; at < whole.length; at++)
    expect(read(whole.slice(0, at), whole.slice(at)).lines.map(({ text }) => text)).toEqual([denied, 'another']);
});

test('a task whose name looks like a line forges none', () => {
  const names = ['x\ny-1 [001] b. 1', ': bpf_trace_pri', '[001] b 1.2: b', '\nCPU:0 [LOST 9 '];
  const { lines, losses } = read(...names.map((name) => printed(denied, `${name}-1 `)));
  expect(lines.map(({ text }) => text)).toEqual(names.map(() => denied));
  expect(losses).toEqual([]);
});

test('overwritten lines are reported as lost', () => {
  expect(read('CPU:3 [LOST 512 EVENTS]\n', printed(denied)).losses).toMatchObject([{ count: 512, unit: 'records' }]);
});

test('other events and endless lines are skipped', () => {
  const { lines } = read(
    'x-1 [001] b..11 4.9: sched_switch: y\n',
    'z'.repeat(8000),
    'z'.repeat(8000),
    'z'.repeat(8000),
    '\n',
    printed('a'),
  );
  expect(lines.map(({ text }) => text)).toEqual(['a']);
});

test('without tracefs, the notice and the check say so', () => {
  const { heard, listener } = listening();
  const time = fakeTime(start);
  const tracefs = folder('none');
  const source = createBpfTrace({ tracefs, listener, timing: time });
  source.start();
  expect(heard.notices).toMatchObject([{ level: 'error', key: 'failed' }]);
  source.stop();
  expect(bpfTraceObstacle(tracefs)).toBe(/cannot be read: (.*)\. It is tried/.exec(heard.notices[0]?.text ?? '')?.[1]);
});

test('in a flood, other work gets its turn after some hundred lines, however many a read returns', () => {
  const { heard, source, time } = reading(Array.from({ length: 10 }, () => printed(denied).repeat(50)));
  time.step();
  expect(heard.lines).toHaveLength(300);
  time.advance(0);
  expect(heard.lines).toHaveLength(500);
  source.stop();
});
