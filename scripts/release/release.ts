/**
 * Makes all of a release that needs no remote, into dist/release:
 *
 *   release.ts [--tag TAG] [--dry] [--processor PROCESSOR …] [--output FOLDER]
 *
 * --tag   what is released, v0.1.0; default: that of package.json
 * --dry   a checkout that cannot be released yet only says why. Without it, it is refused and nothing is made.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { preparePrograms } from '../../test/programs/install.ts';
import { imageOf, makeChart } from './chart.ts';
import { makeExecutable, nodeOf, type Processor, processors } from './executable.ts';
import { makeNpmPackage } from './npm-package.ts';
import { makePlugin, sha256Of } from './plugin.ts';
import { problemsOf, readProject, releaseNotes, root } from './project.ts';
import { run } from './run.ts';

/** The folder that each run begins with an empty one of. */
const own = join(root, 'dist/release');

interface Options {
  readonly tag: string | undefined;
  readonly dry: boolean;
  /** The processors of the executables; a release has all. */
  readonly executables: readonly Processor[];
  /** Absolute path. */
  readonly output: string;
}

try {
  process.exitCode = await release(readOptions());
} catch (error) {
  console.error(`release: ${(error as Error).message}`);
  process.exitCode = 1;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      tag: { type: 'string' },
      dry: { type: 'boolean', default: false },
      processor: { type: 'string', multiple: true, default: [...processors] },
      output: { type: 'string', default: own },
    },
  });
  const unknown = values.processor.filter((each) => !processors.some((known) => known === each));
  if (unknown.length > 0) throw new Error(`--processor ${unknown.join(', ')}: must be ${processors.join(' or ')}`);
  const executables = processors.filter((each) => values.processor.includes(each));
  return { tag: values.tag, dry: values.dry, executables, output: resolve(values.output) };
}

/** Returns the exit status. */
async function release(options: Options): Promise<0 | 1> {
  const project = readProject();
  const problems = problemsOf(project, options.tag);
  if (problems.length > 0 && !options.dry) {
    console.error(['release: refused, nothing was made:', ...problems.map((each) => `  ${each}`)].join('\n'));
    return 1;
  }
  await preparePrograms('release');
  const made = make(options);
  console.log(`Made in ${relative(process.cwd(), options.output)}/:\n\n${tableOf(made)}`);
  console.log(`\nNot run here, because each needs a remote (docs/releasing.md):\n\n${remoteSteps().join('\n')}`);
  if (problems.length > 0)
    console.log(`\nA release of this checkout is refused:\n\n${problems.map((each) => `  ${each}`).join('\n')}`);
  return 0;
}

/** Paths of all files that people download. */
function make({ output, executables: wanted }: Options): string[] {
  const project = readProject();
  // Only its own folder is emptied: another one may be anything.
  if (output === own) rmSync(output, { recursive: true, force: true });
  else if (existsSync(output)) throw new Error(`--output ${output}: is there already; name a new folder`);
  mkdirSync(output, { recursive: true });
  run(process.execPath, ['scripts/build.mjs']);
  const notices = join(output, 'THIRD-PARTY-LICENCES.txt');
  run(process.execPath, ['scripts/image-licences.mjs', notices]);
  const bill = join(output, `${project.name}-${project.version}.cdx.json`);
  run(process.execPath, ['scripts/sbom.mjs', bill]);
  const scratch = join(output, 'scratch');
  const executables = wanted.map((processor) => ({
    processor,
    archive: makeExecutable(project, { processor, node: nodeOf(project, processor, scratch), output, notices }),
  }));
  rmSync(scratch, { recursive: true, force: true });
  const files = [
    makeNpmPackage(project, output, notices),
    ...executables.map(({ archive }) => archive),
    makeChart(project, output),
    ...makePlugin(project, { output, notices, executables }),
    bill,
  ];
  rmSync(notices);
  const sums = join(output, 'SHA256SUMS');
  writeFileSync(sums, files.map((file) => `${sha256Of(file)}  ${basename(file)}\n`).join(''));
  const notes = join(output, 'NOTES.md');
  writeFileSync(notes, releaseNotes(project.version));
  const expected = new Set([...files, sums, notes].map((file) => basename(file)));
  const strays = readdirSync(output).filter((name) => !expected.has(name));
  if (strays.length > 0) throw new Error(`left in ${output}: ${strays.join(', ')}`);
  return [...files, sums, notes];
}

function tableOf(files: readonly string[]): string {
  const width = Math.max(...files.map((file) => basename(file).length));
  return files
    .map((file) => `  ${basename(file).padEnd(width)}  ${sizeOf(file).padStart(10)}  sha256 ${sha256Of(file)}`)
    .join('\n');
}

function sizeOf(file: string): string {
  const { size } = statSync(file);
  return size < 1024 * 1024 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1024 / 1024).toFixed(1)} MiB`;
}

function remoteSteps(): string[] {
  const image = imageOf(readProject());
  return [
    `  image       ${image}, both targets for amd64 and arm64 with SBOM and provenance: BuildKit, and a registry for its bases and for it`,
    '  signatures  of images, chart and SHA256SUMS: cosign asks the identity of the workflow that runs',
    `  chart       helm push to oci://${image.replace(/[^/]+$/, 'charts')}: a registry`,
    '  npm         npm publish with provenance: the npm registry, and the identity of the workflow',
    '  GitHub      the release with these files, and the pull request to the index of krew',
  ];
}
