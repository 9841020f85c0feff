import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createClock } from '../../src/sources/envelopes/clock.ts';
import { readEnvelope } from '../../src/sources/envelopes/read-envelope.ts';

const latest = Date.UTC(2026, 10, 22);
const newClock = () => createClock({ latest, zone: (...fields) => Date.UTC(...fields) - 3_600_000 });

const stamps = fc
  .tuple(
    fc.constantFrom(
      '2026-11-21T03:42:',
      '2026-11-21 03:42:',
      '2026-11-21T03:43:',
      '2026-11-31T25:42:',
      '2026-11-21T03:42',
    ),
    fc.constantFrom('00', '11', '59', '60', '61', '99', '5', '', '1x'),
    fc.oneof(
      fc.constantFrom('', '.', ',123', '.000000', '.999999999', '.1234567890', '.5x'),
      fc.stringMatching(/^\.\d{1,9}$/),
    ),
    fc.constantFrom('', 'Z', '+00:00', '+02:00', '-0600', '+02', '+02:000'),
    fc.constantFrom(' ', '', '|', 'x', ' stdout F ', ' node-a kernel: '),
  )
  .map((parts) => `${parts.join('')}IN=eth0 OUT=`);

test('a stamp is read alike after others of its minute and by a clock that has read none, to the last bit', () => {
  fc.assert(
    fc.property(fc.array(stamps, { minLength: 2, maxLength: 8 }), (lines) => {
      const clock = newClock();
      for (const line of lines) expect(readEnvelope(line, clock)).toStrictEqual(readEnvelope(line, newClock()));
    }),
    { numRuns: 2000 },
  );
});
