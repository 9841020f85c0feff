// Single executables for Linux: Node.js with the bundle in it (https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html).
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Project, root } from './project.ts';
import { pack, run } from './run.ts';

export const processors = ['x64', 'arm64'] as const;
export type Processor = (typeof processors)[number];

/** Puts a file into an executable: what the documentation of Node.js names for it. */
const postject = join(root, 'node_modules/postject/dist/cli.js');
/** The mark by which Node.js finds the place of a program in itself. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

interface Lock {
  readonly packages: Readonly<Record<string, { integrity?: string }>>;
}

/** Fetches the Node.js of a processor that is not this machine's, at the version that package.json names. Returns its folder. */
export function nodeOf(project: Project, processor: Processor, scratch: string): string {
  const name = `node-linux-${processor}`;
  const installed = join(root, 'node_modules', name);
  if (existsSync(join(installed, 'bin/node'))) return installed;
  const place = join(scratch, name);
  mkdirSync(place, { recursive: true });
  const wanted = `${name}@${project.optionalDependencies[name]}`;
  const [packed] = JSON.parse(run('npm', ['pack', '--json', wanted], place)) as [
    { filename: string; integrity: string },
  ];
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const locked = packages[`node_modules/${name}`]?.integrity;
  if (packed.integrity !== locked)
    throw new Error(`${wanted}: npm has ${packed.integrity}, package-lock.json has ${locked}: it is not used`);
  run('tar', ['-xzf', packed.filename], place);
  return join(place, 'package');
}

/** Writes `NAME-VERSION-linux-PROCESSOR.tar.gz` into a folder. Returns its path. */
export function makeExecutable(
  project: Project,
  { processor, node, output, notices }: { processor: Processor; node: string; output: string; notices: string },
): string {
  const name = `${project.name}-${project.version}-linux-${processor}`;
  const folder = join(output, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const executable = join(folder, project.name);
  const program = join(folder, 'program.cjs');
  const blob = join(folder, 'program.blob');
  const config = join(folder, 'sea.json');
  const isOwn = processor === process.arch;
  writeFileSync(program, withoutNeighbours(readFileSync(join(root, 'dist/kube-netfilter-tailer.cjs'), 'utf8')));
  writeFileSync(
    config,
    JSON.stringify({
      // Relative to the folder that it is made in, because the path stands in the executable.
      main: basename(program),
      output: basename(blob),
      disableExperimentalSEAWarning: true,
      // Compiled code is of one processor; with it the program starts sooner.
      useCodeCache: isOwn,
      // Variables for other programs' Node.js are none of this one's.
      execArgvExtension: 'none',
    }),
  );
  // The program is compiled by the very Node.js that will run it.
  run(isOwn ? join(node, 'bin/node') : process.execPath, ['--experimental-sea-config', basename(config)], folder);
  copyFileSync(join(node, 'bin/node'), executable);
  chmodSync(executable, 0o755);
  run(process.execPath, [postject, executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse]);
  for (const file of [program, blob, config]) rmSync(file);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const licences = [
    readFileSync(notices, 'utf8'),
    `Node.js ${project.optionalDependencies[`node-linux-${processor}`]}`,
    readFileSync(join(node, 'LICENSE'), 'utf8'),
  ];
  writeFileSync(join(folder, 'THIRD-PARTY-LICENCES.txt'), licences.join('\n\n'));
  const archive = join(output, `${name}.tar.gz`);
  pack(output, name, archive);
  rmSync(folder, { recursive: true });
  return archive;
}

/** scripts/report-bundle.mjs makes this file. */
const reportFile = 'kube-netfilter-tailer-report.cjs';

/** An executable has no files beside it: what it finds in a folder by that name is not its own, and must not be run. */
function withoutNeighbours(program: string): string {
  const load = `import("./${reportFile}")`;
  const alone = program.replace(load, 'Promise.reject(Object.assign(new Error,{code:"MODULE_NOT_FOUND"}))');
  if (alone === program || alone.includes(load)) throw new Error(`the bundle does not load ${reportFile} as expected`);
  return alone;
}
