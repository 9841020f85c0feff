import { afterEach } from 'vitest';
import { createSegment, type Segment } from '../../../src/publish/state/segments.ts';

/** Makes segments whose files are closed at the end of each test, as a process's files are at its end. */
export function createOpenSegments() {
  const made: Segment[] = [];
  afterEach(async () => {
    for (const segment of made.splice(0)) await segment.close().catch(() => undefined);
  });
  return async (...given: Parameters<typeof createSegment>): Promise<Segment> => {
    const segment = await createSegment(...given);
    made.push(segment);
    return segment;
  };
}

/** The segment with another `append`. */
export function appendingBy(segment: Segment, append: Segment['append']): Segment {
  return Object.create(segment, { append: { value: append } }) as Segment;
}
