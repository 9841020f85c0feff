import { expect } from 'vitest';

/** The folder's file of this name must have these lines. `npm run update -- wording` writes them; they are to be read before they are committed. */
export async function expectLines(folder: string, name: string, lines: readonly string[]): Promise<void> {
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`${folder}/${name}`);
}

/** The message that this throws. */
export function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'is accepted';
}
