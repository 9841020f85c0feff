import { expect } from 'vitest';

/**
 * The file of this name in the folder must have these lines. `npm run update -- wording` writes it; read it before you
 * commit it.
 */
export async function expectLines(folder: string, name: string, lines: readonly string[]): Promise<void> {
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`${folder}/${name}`);
}

/** Returns the message of the error that `run` throws. */
export function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'is accepted';
}
