import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { withLock } from '../control-plane/lock.ts';
import { run } from './command.ts';
import { LOG_ALL_NAMESPACES } from './kernel-access.ts';

const PREFIX = 'kube-netfilter-tailer';

// The names contain what cleaning up after a crash has to know: the owner's process id, a random part, the earlier
// value of the switch, and what the namespace stands for.
const NAME = new RegExp(`^(${PREFIX}-(\\d+)-[0-9a-f]{8}-(\\d+))-\\S+`);

/** The network namespaces of one network. */
export type NamespaceGroup = Awaited<ReturnType<typeof createNamespaceGroup>>;

interface Namespace {
  readonly name: string;
  readonly group: string;
  readonly owner: string;
  readonly switchBefore: string;
}

/**
 * Makes a new, empty group. While there is one, LOG rules print in all namespaces of this machine. Groups whose
 * processes have ended are removed first.
 */
export async function createNamespaceGroup() {
  return locked(async () => {
    await removeLeftovers();
    const [other] = await listNamespaces();
    const before = other?.switchBefore ?? (await readFile(LOG_ALL_NAMESPACES, 'utf8')).trim();
    const group = `${PREFIX}-${process.pid}-${randomBytes(4).toString('hex')}-${before}`;
    /** Makes another namespace; returns its name, for `ip -n` and `ip netns exec`. */
    const add = async (role: string): Promise<string> => {
      const name = `${group}-${role}`;
      await run('ip', ['netns', 'add', name]);
      return name;
    };
    // Before the switch is changed, because this name records its old value.
    await add('group');
    await writeFile(LOG_ALL_NAMESPACES, '1');
    /**
     * Deletes all namespaces of the group. With the last group on this machine, nf_log_all_netns gets the value that it
     * had before the first.
     */
    const remove = (): Promise<void> => locked(() => removeGroup(group));
    return { add, remove };
  });
}

async function removeLeftovers(): Promise<void> {
  const left = (await listNamespaces()).filter(({ owner }) => !existsSync(`/proc/${owner}`));
  for (const group of new Set(left.map((namespace) => namespace.group))) await removeGroup(group);
}

async function removeGroup(group: string): Promise<void> {
  const all = await listNamespaces();
  const own = all.filter((namespace) => namespace.group === group);
  const [first] = own;
  // Before the names that record the old value are deleted.
  if (first !== undefined && own.length === all.length) await writeFile(LOG_ALL_NAMESPACES, first.switchBefore);
  for (const { name } of own) await run('ip', ['netns', 'delete', name]);
}

async function listNamespaces(): Promise<readonly Namespace[]> {
  const { stdout } = await run('ip', ['netns', 'list']);
  return stdout.split('\n').flatMap((line) => {
    const [name, group, owner, switchBefore] = NAME.exec(line) ?? [];
    if (name === undefined || group === undefined || owner === undefined || switchBefore === undefined) return [];
    return { name, group, owner, switchBefore };
  });
}

// One run must not change what another one is reading.
async function locked<T>(work: () => Promise<T>): Promise<T> {
  return withLock(`${PREFIX}-network`, () => {}, work, 180_000);
}
