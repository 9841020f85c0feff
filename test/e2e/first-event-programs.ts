import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestNode } from './node/node.ts';

/** Programs that a reader of docs/quickstart.md has and a test does not. */
export interface Programs {
  /** To be first on the PATH. */
  readonly path: string;
  /** What the container engine was asked to do, one command line each. */
  readonly engine: () => readonly string[];
  /** References that can be pulled: built, then pushed. */
  readonly pushed: () => readonly string[];
}

/** `docker build` and `docker push` are written down, and nothing else is taken. */
const docker = (record: string): string => `#!/bin/bash
case "$*" in
  'build --target '*' -t '*' .' | 'push '*) echo "$*" >> ${record} ;;
  *) echo "docker is only played here: it knows build --target TARGET -t REFERENCE . and push REFERENCE" >&2; exit 64 ;;
esac
`;

/** As ssh does: what follows the host is one line for the shell of root there. Its network is the machine's. */
const ssh = (name: string, enter: readonly string[]): string => `#!/bin/bash
host=$1
shift
[ "$host" = root@${name} ] || { echo "ssh is only played here: it knows root@${name}, not $host" >&2; exit 255; }
exec ${enter.join(' ')} sh -c "$*"
`;

/** `node`: where ssh leads; `kubectl`: path of the real one. */
export function createPrograms(
  folder: string,
  kubectl: string,
): Programs & { readonly lead: (node: TestNode) => void } {
  const path = join(folder, 'bin');
  const record = join(folder, 'engine.log');
  mkdirSync(path);
  appendFileSync(record, '');
  symlinkSync(kubectl, join(path, 'kubectl'));
  writeFileSync(join(path, 'docker'), docker(record), { mode: 0o755 });
  const engine = (): readonly string[] => readFileSync(record, 'utf8').trim().split('\n');
  return {
    path,
    engine,
    pushed: () =>
      engine().flatMap((line, index, all) => {
        const [, reference] = /^push (\S+)$/.exec(line) ?? [];
        const isBuilt = all.slice(0, index).some((each) => each.includes(` -t ${reference} `));
        return reference !== undefined && isBuilt ? [reference] : [];
      }),
    lead({ name, machine }) {
      writeFileSync(join(path, 'ssh'), ssh(name, machine.enter), { mode: 0o755 });
    },
  };
}
