import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from '../network/command.ts';

/** Programs that the documents name beside those of ../network/tools.ts, and the Debian packages that have them. */
const packages: Readonly<Record<string, string>> = {
  awk: 'mawk',
  conntrack: 'conntrack',
  curl: 'curl',
  fuser: 'psmisc',
  ipset: 'ipset',
  jq: 'jq',
  nc: 'netcat-openbsd',
  nft: 'nftables',
  ps: 'procps',
  tcpdump: 'tcpdump',
  unshare: 'util-linux',
};

/** Installs those that are missing; needs root on Debian for that. */
export async function ensureProgramsOfDocuments(): Promise<void> {
  const missing = Object.entries(packages).flatMap(([program, name]) => (isOnPath(program) ? [] : [name]));
  if (missing.length === 0) return;
  const args = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', '-y', '--no-install-recommends', ...missing];
  await run('env', args).catch(async () => {
    // A fresh image has no package lists, and old lists name versions that are gone.
    await run('apt-get', ['update']);
    await run('env', args);
  });
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
