#!/usr/bin/env node
/** Runs the command of the command line, and turns its errors into messages and exit statuses. */
import { basename } from 'node:path';
import { isatty } from 'node:tty';
import { type Command, CommanderError } from 'commander';
import { askWord, completionScript, type Shell } from './cli/options/completion-scripts.ts';
import { createDrops, createProgram, manualPage } from './cli/options/program.ts';
import { commandPath, programName, UsageError } from './cli/options/command.ts';
import { checkConfig, printConfig, readDoctorOptions, readRunOptions } from './cli/options/run-options.ts';
import { readDirectoryOptions } from './cli/options/directory-options.ts';
import { readDropsOptions, readWhyPodOptions } from './cli/options/drops-options.ts';
import { readTopOptions } from './cli/options/top-options.ts';
import { readReplayOptions } from './cli/options/replay-options.ts';
import { readReportOptions } from './cli/options/report-options.ts';
import { readWhyOptions, type WhyOptions } from './cli/options/why-options.ts';
import { type Streams, writeUnlessClosed } from './cli/terminal.ts';
import { environment, version } from './agent/config/config.ts';
import { didYouMean } from './agent/config/suggest.ts';
import { docsUrlProblem } from './agent/config/docs-url.ts';
import { reasonOf } from './base/platform/system-error.ts';
import { hasReadEnough, writeAll } from './base/platform/file-io.ts';
import { loadReport, ReportError } from './cli/report/report.ts';

const actions: Readonly<Record<string, (command: Command) => number | Promise<number>>> = {
  async run(command) {
    const loaded = readRunOptions(command);
    const { runAgent } = await import('./agent/run.ts');
    return await untilStopped(runAgent(loaded, isatty(1), stopSignal()));
  },
  async directory(command) {
    const options = readDirectoryOptions(command);
    const { runDirectory } = await import('./cli/directory.ts');
    return await untilStopped(runDirectory(options, isatty(1), stopSignal()));
  },
  replay: runReplay,
  report: runReport,
  'drops report': runReport,
  async doctor(command) {
    const options = readDoctorOptions(command);
    const { doctor } = await import('./cli/doctor/doctor.ts');
    return await doctor(options, (text) => writeUnlessClosed(streams.out, text));
  },
  why: runWhy,
  async suggest(command) {
    const options = await readConnection(command);
    const { suggestPolicies } = await import('./cli/why/suggest.ts');
    return await suggestPolicies(options, streams);
  },
  async drops(command) {
    const options = readDropsOptions(command);
    const { drops } = await import('./cli/drops/drops.ts');
    return await drops(options, commandPath(command), streams);
  },
  async 'drops why'(command) {
    const { from, to, policies } = command.opts<Record<string, unknown>>();
    if ([from, to, policies].some((given) => given !== undefined)) return await runWhy(command);
    const options = readWhyPodOptions(command);
    const { whyPod } = await import('./cli/drops/why-pod.ts');
    return await whyPod(options, commandPath(command), streams);
  },
  async 'drops top'(command) {
    const hasTerminal = isatty(0) && isatty(1) && environment()['TERM'] !== 'dumb';
    const options = readTopOptions(command, hasTerminal);
    const { top } = await import('./cli/top/top.ts');
    return await top(options, commandPath(command), streams, stopSignal());
  },
  'config print': (command) => print(printConfig(command)),
  'config check': (command) => print(checkConfig(command)),
  completion: ({ args: [shell] }) => print(completionScript(shell as Shell)),
  man: ({ parent }) => print(parent === null ? '' : manualPage(parent)),
  version: () => print(`${version}\n`),
};

const streams: Streams = {
  // Opened only on demand: `process.stdin` makes a pipe non-blocking, and then it cannot be read as a file.
  get stdin() {
    return process.stdin;
  },
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
};

/** kubectl starts a plugin by its file name. `argv0` is the name by which an executable was started. */
const isPlugin = [process.argv0, process.argv[1] ?? ''].some((path) =>
  /^kubectl-drops(?:\.\w+)?$/.test(basename(path)),
);

/** As messages call this program. */
const ownName = isPlugin ? 'kubectl drops' : programName;

// The bundle is CommonJS (scripts/build.mjs), so this is not awaited.
void start();

async function start(): Promise<void> {
  // Exit at once, because open requests and kept-alive connections would keep the process running.
  process.exit(await main(process.argv.slice(2)));
}

async function main(args: string[]): Promise<number> {
  try {
    const wrong = docsUrlProblem();
    if (wrong !== undefined) streams.err(`${ownName}: ${wrong}\n`);
    let status = 0;
    const attach = (command: Command, path: string): void => {
      const action = actions[path];
      if (action !== undefined) command.action(async () => void (status = await action(command)));
      for (const sub of command.commands) attach(sub, `${path} ${sub.name()}`.trim());
    };
    const root = isPlugin ? createDrops('kubectl drops') : createProgram();
    if (args[0] === askWord) {
      const { complete } = await import('./cli/complete.ts');
      return await complete(root, args.slice(1), streams.out);
    }
    attach(root, isPlugin ? 'drops' : '');
    await root.parseAsync(wordsOf(args, root), { from: 'user' });
    return status;
  } catch (error) {
    return statusOf(error);
  }
}

/** commander knows `help COMMAND`, but not `help COMMAND SUBCOMMAND`; for an unknown command, it silently prints the whole help. */
function wordsOf(args: string[], root: Command): string[] {
  const [first, asked, ...more] = args;
  if (first !== 'help' || asked === undefined) return args;
  const names = root.commands.map((command) => command.name());
  if (!names.includes(asked) && !asked.startsWith('-'))
    throw new UsageError([`help ${asked}: there is no such command${didYouMean(asked, names)}`], commandPath(root));
  return more.length > 0 ? [asked, ...more, '--help'] : args;
}

function statusOf(error: unknown): 0 | 1 | 2 {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError || error instanceof ReportError) {
    streams.err(`${error instanceof UsageError ? '' : `${ownName}: `}${error.message}\n`);
    return 2;
  }
  if (hasReadEnough(error)) return 0;
  if ((error as NodeJS.ErrnoException).syscall !== 'write') throw error;
  streams.err(`${ownName}: the output cannot be written: ${reasonOf(error)}\n`);
  return 1;
}

function print(text: string): 0 {
  streams.out(text);
  return 0;
}

async function untilStopped(running: Promise<number>): Promise<number> {
  return await running.catch((error: Error) => {
    streams.err(`${programName}: ${error.message}\n`);
    return 2;
  });
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      stop.abort();
      process.once(signal, () => process.exit(1));
    });
  }
  return stop.signal;
}

async function runReport(command: Command): Promise<number> {
  const options = readReportOptions(command, isatty(1));
  const loaded = await reportFor('report', 'Copy the rows there: npm start --silent -- report ROWS > report.html');
  return loaded === undefined
    ? 2
    : await loaded.runReport(options, streams, isPlugin ? commandPath(command) : programName);
}

async function reportFor(what: string, instead: string) {
  const loaded = await loadReport().catch((error: NodeJS.ErrnoException): undefined => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' && error.code !== 'MODULE_NOT_FOUND') throw error;
    streams.err(
      `${ownName}: ${what} is not in the image, the npm package and the executables; a checkout has it. ${instead}\n`,
    );
  });
  if (loaded !== undefined) stopSignal().addEventListener('abort', () => process.exit(1));
  return loaded;
}

async function runReplay(command: Command): Promise<number> {
  const options = readReplayOptions(command, { isTerminal: isatty(1) });
  if (options.explain !== undefined) {
    const { explainLine } = await import('./cli/explain.ts');
    return await explainLine(options.explain, options, streams);
  }
  const { replay } = await import('./cli/replay/replay.ts');
  if (options.output !== 'html') return await replay(options, streams);
  const loaded = await reportFor(
    'the page',
    'There: npm start --silent -- replay --output html --pods FILE LOG > replay.html',
  );
  return loaded === undefined ? 2 : await replay(options, streams, loaded.runReport);
}

/** Saved objects need neither a kubeconfig nor the library that reads it. */
async function readConnection(command: Command): Promise<WhyOptions> {
  const isSaved = command.getOptionValue('policies') !== undefined;
  if (isSaved) return readWhyOptions(command);
  const { contextNamespace } = await import('./agent/kubernetes/kubeconfig.ts');
  return readWhyOptions(command, contextNamespace);
}

async function runWhy(command: Command): Promise<number> {
  const options = await readConnection(command);
  const { why } = await import('./cli/why/why.ts');
  return await why(options, streams, isPlugin ? commandPath(command) : programName);
}
