import { execFile } from 'node:child_process';
import { accessSync, closeSync, constants, openSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** One switch for the whole machine: whether LOG rules print in network namespaces other than the first (Linux 4.11). */
export const LOG_ALL_NAMESPACES = '/proc/sys/net/netfilter/nf_log_all_netns';
export const KERNEL_LOG = '/dev/kmsg';

/** Programs, and the Debian packages that have them. */
const PACKAGES = new Map([
  ['ip', 'iproute2'],
  ['iptables-legacy', 'iptables'],
  ['ip6tables-legacy', 'iptables'],
  ['iptables-nft', 'iptables'],
  ['ip6tables-nft', 'iptables'],
  ['ping', 'iputils-ping'],
  // Starts the containers of test/e2e/node.
  ['crun', 'crun'],
  // With it comes systemd-journald, which is not on the PATH.
  ['journalctl', 'systemd'],
]);

/** Installs the Debian packages that are missing, if it may; throws an error that names what is missing still. */
export async function ensureTools(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const packages = new Set(missingTools(env).map(([, debianPackage]) => debianPackage));
  if (packages.size > 0 && isRoot() && isOnPath('apt-get', env)) await install([...packages], env);
  const missing = missingRequirements(env);
  if (missing.length > 0) throw new Error(`[network] what the test network needs: ${missing.join('; ')}`);
}

/** What a test network needs and this machine lacks, in words; empty if it has all. */
export function missingRequirements(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  return [
    ...(isRoot() ? [] : ['root, to make network namespaces']),
    ...missingTools(env).map(([tool, debianPackage]) => `${tool} (Debian package ${debianPackage})`),
    ...(isReadable(KERNEL_LOG) ? [] : [`${KERNEL_LOG}, readable`]),
    ...(isAccessible(LOG_ALL_NAMESPACES, constants.W_OK) ? [] : [`${LOG_ALL_NAMESPACES}, writable`]),
  ];
}

function missingTools(env: NodeJS.ProcessEnv): readonly (readonly [tool: string, debianPackage: string])[] {
  return [...PACKAGES].filter(([tool]) => !isOnPath(tool, env));
}

async function install(packages: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const aptGet = (...args: readonly string[]): Promise<unknown> => {
    process.stderr.write(`[network] apt-get ${args.join(' ')}\n`);
    return run('apt-get', args, { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 64 * 1024 * 1024 });
  };
  const installation = ['install', '-y', '--no-install-recommends', ...packages];
  try {
    await aptGet(...installation);
  } catch {
    // A fresh image has no package lists, and old lists name versions that are gone.
    await aptGet('update');
    await aptGet(...installation);
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function isOnPath(tool: string, env: NodeJS.ProcessEnv): boolean {
  return (env.PATH ?? '').split(delimiter).some((folder) => isAccessible(join(folder, tool), constants.X_OK));
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

// By opening it: with kernel.dmesg_restrict the mode of the file tells nothing.
function isReadable(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    return true;
  } catch {
    return false;
  }
}
