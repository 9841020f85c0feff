import fc from 'fast-check';

type Arbitraries<Values extends [unknown, ...unknown[]]> = { [Index in keyof Values]: fc.Arbitrary<Values[Index]> };

/**
 * Tests a property for all values that the arbitraries can generate: `forAll([ports, times], { numRuns: 500 }, (port,
 * time) => { … })`.
 */
export function forAll<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  parameters: fc.Parameters<Values>,
  holds: (...values: Values) => boolean | void,
): void {
  fc.assert(fc.property<Values>(...arbitraries, holds), parameters);
}

/** The same for asynchronous properties. */
export async function forAllAsync<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  parameters: fc.Parameters<Values>,
  holds: (...values: Values) => Promise<boolean | void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty<Values>(...arbitraries, holds), parameters);
}
