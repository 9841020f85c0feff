import fc from 'fast-check';
import { expect, test } from 'vitest';
import { join, joinedByTheBook, type Joining, type PhysicalLine } from './joining.ts';
import { forAll } from '../../../for-all.ts';

const text = fc.constantFrom(
  'E1121 12:00:00.000000       1 proxier.go:1564] "Failed" err=<',
  'I1121 12:00:00.000000       1 proxier.go:833] "Sync failed"',
  '\texit status 2:',
  '    four spaces',
  'no indentation',
  ')',
  '',
  ' > ipFamily="IPv4"',
  ' > rules=<',
  '2026-11-21 12:00:00.000 [WARNING][56] felix/table.go 654: x',
  '{"ts":1}',
  'bird: BGP: x',
  'panic: x',
);

/** A line, in one piece or in several. */
const line = fc
  .record({
    stream: fc.constantFrom('stdout', 'stderr', 'stderr', undefined),
    text,
    cuts: fc.array(fc.nat({ max: 30 }), { maxLength: 2 }),
  })
  .map(({ stream, text: whole, cuts }): PhysicalLine[] => {
    if (stream === undefined) return [{ stream, partial: false, text: `plain ${whole}` }];
    const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
    return at.slice(1).map((end, index) => ({
      stream,
      partial: index < cuts.length,
      text: whole.slice(at[index], Math.max(end, at[index] as number)),
    }));
  });

/** Pieces of both streams in any order. */
const physicalLines = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.infiniteStream(fc.nat()))
  .map(([lines, numbers]): PhysicalLine[] => {
    const queues = ['stdout', 'stderr', undefined].map((stream) =>
      lines.flat().filter((each) => each.stream === stream),
    );
    const mixed: PhysicalLine[] = [];
    for (
      let left = queues.filter((queue) => queue.length > 0);
      left.length > 0;
      left = left.filter((q) => q.length > 0)
    ) {
      const number = numbers.next().value as number;
      const next = left[number % left.length]?.shift();
      if (next !== undefined) mixed.push(next);
    }
    return mixed;
  });

type Action =
  | { do: 'read'; count: number }
  | { do: 'restart' }
  | { do: 'stop'; after: number }
  | { do: 'wait'; time: number };
const act: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant('read' as const), count: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ do: fc.constant('restart' as const) }),
  fc.record({ do: fc.constant('stop' as const), after: fc.integer({ min: 1, max: 4 }) }),
);
const wait = fc.record({ do: fc.constant('wait' as const), time: fc.integer({ min: 1, max: 6000 }) });

function perform(physical: readonly PhysicalLine[], actions: readonly Action[]): Joining {
  const joining = join(physical);
  for (const action of actions) {
    if (action.do === 'read') joining.read(action.count);
    else if (action.do === 'restart') joining.restart();
    else if (action.do === 'stop') joining.stopAfter(action.after);
    else joining.time.advance(action.time);
  }
  joining.stopAfter(Infinity);
  joining.restart();
  joining.read(Infinity);
  joining.finish();
  return joining;
}

test('any number of restarts gives the same records, each once', () => {
  forAll([physicalLines, fc.array(act, { maxLength: 30 })], { numRuns: 1000 }, (physical, actions) => {
    const { records, position } = perform(physical, actions);
    const inOrder = records.toSorted((a, b) => a.number - b.number);
    expect(inOrder.map(({ number, text: joined }) => ({ number, text: joined }))).toStrictEqual(
      joinedByTheBook(physical),
    );
    expect(position).toBeNull();
  });
});

test('each physical line comes once, in the order of its stream, whatever takes too long', () => {
  forAll([physicalLines, fc.array(fc.oneof(act, wait), { maxLength: 30 })], { numRuns: 1000 }, (physical, actions) => {
    const marked = physical.map((each, index) => ({ ...each, text: `${each.text}#${index}#` }));
    const { records } = perform(marked, actions);
    const numbers = records.map((each) => {
      const indexes = Array.from(each.text.matchAll(/#(\d+)#/g), ([, number]) => Number(number));
      return { stream: marked[indexes[0] as number]?.stream, numbers: indexes };
    });
    for (const stream of ['stdout', 'stderr', undefined]) {
      const got = numbers.flatMap((each) => (each.stream === stream ? each.numbers : []));
      expect(got).toStrictEqual(marked.flatMap((each, index) => (each.stream === stream ? [index] : [])));
    }
    expect(records.map(({ number }) => number - 1)).toStrictEqual(numbers.map((each) => each.numbers[0]));
  });
});
