/** Calls `one` with the numbers from `from` to `to`, `to` excluded; `width` calls are under way at the same time. */
export async function inTurns(
  width: number,
  [from, to]: readonly [number, number],
  one: (number: number) => Promise<unknown>,
): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await one(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
