// Runs the built bundle as the image will: alone in a folder, with nothing installed beside it. BUNDLE_NODE: a Node.js other than
// that of this process.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-smoke-'));
const bundle = join(folder, 'kube-netfilter-tailer.cjs');
copyFileSync(join(root, 'dist', 'kube-netfilter-tailer.cjs'), bundle);

const cluster = ['--pods', join(root, 'samples', 'cluster.json'), '--now', '2026-11-21T20:00:00Z'];
const log = join(root, 'samples', 'policy-deny.log');
const needed = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '');
/** @type {{ args: string[], status: number, shows: RegExp, node?: string }[]} `node`: the version that Node.js pretends to be. */
const checks = [
  { args: ['version'], status: 0, shows: /^\d+\.\d+\.\d+/ },
  { args: ['--help'], status: 0, shows: /replay/ },
  {
    args: ['replay', ...cluster, log],
    status: 0,
    shows: /PacketDrop .*\(x36 over .*Deployment batch\/worker .*5432\/TCP/,
  },
  { args: ['replay', ...cluster, '--output', 'json', log], status: 0, shows: /^\{"apiVersion":"v1","kind":"Event"/ },
  { args: ['replay', ...cluster, join(folder, 'missing.log')], status: 1, shows: /no such file/ },
  { args: ['replay', '--nonsense'], status: 2, shows: /nonsense/ },
  { args: ['run', '--help'], status: 0, shows: /NODE_NAME/ },
  { args: ['run', '--kubeconfig', join(folder, 'missing')], status: 2, shows: /NODE_NAME or --node: is not set/ },
  { args: ['run', '--node', 'a', '--kubeconfig', join(folder, 'missing')], status: 2, shows: /missing/ },
  ...['16.20.2', '20.20.2', '24.11.1'].map((node) => ({
    node,
    args: ['version'],
    status: 1,
    shows: new RegExp(`^kube-netfilter-tailer needs Node\\.js ${needed} or newer; this is ${node} \\(.+\\)\\.\n$`),
  })),
  ...[`${needed}.0`, '25.0.0'].map((node) => ({ node, args: ['version'], status: 0, shows: /^\d+\.\d+\.\d+/ })),
];

// A kubeconfig that asks a program for the token, and leads through a proxy.
const credential = '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a"}}';
const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'echo', args: [credential] };
const kubeconfig = join(folder, 'kubeconfig');
writeFileSync(
  kubeconfig,
  JSON.stringify({
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1', 'proxy-url': 'http://127.0.0.1:2' } }],
    users: [{ name: 'a', user: { exec } }],
  }),
);
checks.push({
  args: ['drops', '--kubeconfig', kubeconfig],
  status: 1,
  shows: /the connection to 127\.0\.0\.1:2 was refused/,
});

let failed = 0;
for (const { args, status, shows, node } of checks) {
  const pretend = node === undefined ? [] : ['--require', pretending(node)];
  const run = spawnSync(process.env.BUNDLE_NODE ?? process.execPath, [...pretend, bundle, ...args], {
    encoding: 'utf8',
    cwd: folder,
  });
  const output = run.stdout + run.stderr;
  if (run.status === status && shows.test(output)) continue;
  failed++;
  console.error(
    `FAILED: ${[...pretend, ...args].join(' ')}\n  exit status ${run.status}, expected ${status}; expected to show ${shows}\n${output}`,
  );
}
rmSync(folder, { recursive: true });
console.log(`smoke test of the bundle: ${checks.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/**
 * A file that makes Node.js name another version of itself. Returns its path.
 *
 * @param {string} node
 */
function pretending(node) {
  const path = join(folder, `node-${node}.cjs`);
  const versions = `{ ...process.versions, node: '${node}' }`;
  writeFileSync(path, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  return path;
}
