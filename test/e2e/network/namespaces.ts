import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { withLock } from '../control-plane/lock.ts';
import { run } from './command.ts';
import { LOG_ALL_NAMESPACES } from './kernel-access.ts';

const PREFIX = 'kube-netfilter-tailer';

// What cleaning up after a crash takes to know is in the names: the owner's process id, a random part, the switch as it
// was before, and what the namespace stands for.
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
 * A new group, still empty. As long as there is one, LOG rules print in all namespaces of this machine. Groups of
 * processes that are gone are removed first.
 */
export async function createNamespaceGroup() {
  return locked(async () => {
    await removeLeftovers();
    const [other] = await listNamespaces();
    const before = other?.switchBefore ?? (await readFile(LOG_ALL_NAMESPACES, 'utf8')).trim();
    const group = `${PREFIX}-${process.pid}-${randomBytes(4).toString('hex')}-${before}`;
    /** Makes one more; returns its name, for `ip -n` and `ip netns exec`. */
    const add = async (role: string): Promise<string> => {
      const name = `${group}-${role}`;
      await run('ip', ['netns', 'add', name]);
      return name;
    };
    // Before the switch is turned: from here on its old value is on record.
    await add('group');
    await writeFile(LOG_ALL_NAMESPACES, '1');
    /** Deletes them all. With the last group on this machine nf_log_all_netns becomes what it was before the first. */
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
  // Before the names that record the old value are gone.
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

// One run must not change what another one is looking at.
async function locked<T>(work: () => Promise<T>): Promise<T> {
  return withLock(`${PREFIX}-network`, () => {}, work);
}
