import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The command by which the image starts the program. */
export interface ImageCommand {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The flags of Node.js in `entrypoint`. */
  readonly flags: readonly string[];
  /** The variables of glibc's allocator in `env`. */
  readonly allocator: Readonly<Record<string, string>>;
}

/** Reads the Dockerfile in `folder`, the one place that has the flags of Node.js and the variables of the allocator. */
export function imageCommand(folder = join(import.meta.dirname, '../..')): ImageCommand {
  const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '');
  const entrypoint = JSON.parse(last(dockerfile, /^ENTRYPOINT (.*)$/gm)) as string[];
  const variables = [...last(dockerfile, /^ENV (.*)$/gm).matchAll(/(\w+)=(\S+)/g)];
  const env = variables.map(([, name = '', value = '']) => [name, value] as const);
  return {
    entrypoint,
    cmd: JSON.parse(last(dockerfile, /^CMD (.*)$/gm)) as string[],
    env: Object.fromEntries(env),
    flags: entrypoint.slice(1, -1),
    allocator: Object.fromEntries(env.filter(([name]) => name.startsWith('MALLOC_'))),
  };
}

function last(text: string, pattern: RegExp): string {
  const found = [...text.matchAll(pattern)].at(-1)?.[1];
  if (found === undefined) throw new Error(`the Dockerfile has nothing that matches ${pattern}`);
  return found;
}
