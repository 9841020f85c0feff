#!/usr/bin/env node
/** The command line: which command runs, and what its errors come to. */
import { basename } from 'node:path';
import { isatty } from 'node:tty';
import { explainLine } from './commands/explain.ts';
import { completion, completionHelp, help, manual } from './commands/help/help.ts';
import { wrapped } from './commands/help/wrap.ts';
import { configHelp, runConfig } from './commands/options/config-options.ts';
import { directoryHelp, readDirectoryOptions } from './commands/options/directory-options.ts';
import { doctorHelp, readDoctorOptions } from './commands/options/doctor-options.ts';
import { replayHelp, readReplayOptions } from './commands/options/replay-options.ts';
import { dropsHelp, readDropsOptions } from './commands/options/drops-options.ts';
import { readReportOptions, reportHelp } from './commands/options/report-options.ts';
import { readTopOptions, topHelp } from './commands/options/top-options.ts';
import { readWhyOptions, suggestHelp, whyHelp } from './commands/options/why-options.ts';
import { readRunOptions, runHelp } from './commands/options/run-options.ts';
import { UsageError } from './commands/options/usage-error.ts';
import { replay } from './commands/replay/replay.ts';
import type { Streams } from './commands/streams.ts';
import { environment, version } from './config/config.ts';
import { suggest } from './config/suggest.ts';
import { docsUrlProblem, withAddresses } from './config/docs-url.ts';
import { reasonOf } from './platform/system-error.ts';
import { hasReadEnough, writeAll } from './platform/write-all.ts';
import { ReportError } from './report/report-error.ts';

/** Each resolves to the exit status. */
const commands = new Map<string, (args: string[]) => number | Promise<number>>([
  ['run', run],
  ['directory', runDirectoryCommand],
  ['replay', runReplay],
  ['report', runReport],
  ['doctor', runDoctor],
  ['why', runWhy],
  ['suggest', runSuggest],
  ['drops', runDrops],
  ['config', (args) => printText(runConfig(args), configHelp)],
  ['completion', (args) => printText(completion(args), completionHelp)],
  ['man', () => print(manual())],
  ['version', () => print(`${version}\n`)],
]);

const streams: Streams = {
  // Only on demand: looking at it makes a pipe non-blocking, and then it cannot be read as a file.
  get stdin() {
    return process.stdin;
  },
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
};

/** kubectl finds a plugin by its name. What an executable was started as stands in the first of the two. */
const isPlugin = [process.argv0, process.argv[1] ?? ''].some((path) =>
  /^kubectl-drops(?:\.\w+)?$/.test(basename(path)),
);
const dropsName = isPlugin ? 'kubectl drops' : 'kube-netfilter-tailer drops';

// Not awaited: the bundle is CommonJS (scripts/build.mjs).
void start();

async function start(): Promise<void> {
  const given = process.argv.slice(2);
  process.exitCode = await main(isPlugin ? ['drops', ...given] : given);
}

async function main([command, ...args]: string[]): Promise<number> {
  try {
    const wrong = docsUrlProblem();
    if (wrong !== undefined) streams.err(`kube-netfilter-tailer: ${wrong}\n`);
    if (command === 'help' && args.length > 0) return await main([...args, '--help']);
    if (command === 'help' || command === '--help' || command === '-h') return printHelp(help);
    if (args.length === 1 && args[0] === '--version') return print(`${version}\n`);
    const found = commands.get(command === '--version' ? 'version' : (command ?? ''));
    if (found !== undefined) return await found(args);
    const meant =
      suggest(command ?? '', [...commands.keys()]) || suggest(command ?? '', ['top']).replace('top', 'drops top');
    const unknown = `kube-netfilter-tailer: there is no command ${command}${meant}`;
    streams.err(
      command === undefined
        ? wrapped(help, process.stderr.columns ?? Infinity)
        : `${unknown}\nTry: kube-netfilter-tailer --help\n`,
    );
    return 2;
  } catch (error) {
    if (error instanceof UsageError) {
      streams.err(`${error.message}\n`);
      return 2;
    }
    if (error instanceof ReportError) {
      streams.err(`kube-netfilter-tailer: ${error.message}\n`);
      return 2;
    }
    if (hasReadEnough(error)) return 0;
    if ((error as NodeJS.ErrnoException).syscall !== 'write') throw error;
    streams.err(`kube-netfilter-tailer: the output cannot be written: ${reasonOf(error)}\n`);
    return 1;
  }
}

function print(text: string): 0 {
  streams.out(text);
  return 0;
}

/** What a command returns, which may be its help. */
function printText(text: string, itsHelp: string): 0 {
  return text === itsHelp ? printHelp(text) : print(text);
}

function printHelp(text: string): 0 {
  return print(wrapped(withAddresses(text), process.stdout.columns ?? Infinity));
}

async function run(args: string[]): Promise<number> {
  const loaded = readRunOptions(args);
  if (loaded === 'help') return printHelp(runHelp);
  // The API client costs 30 MB of memory, which `replay` can do without.
  const { runAgent } = await import('./commands/run.ts');
  const status = await runAgent(loaded, isatty(1), stopSignal()).catch((error: Error) => {
    streams.err(`kube-netfilter-tailer: ${error.message}\n`);
    return 2;
  });
  // Not waiting for what is still pending, such as a back-off.
  return process.exit(status);
}

async function runDirectoryCommand(args: string[]): Promise<number> {
  const options = readDirectoryOptions(args);
  if (options === 'help') return printHelp(directoryHelp);
  const { runDirectory } = await import('./commands/directory.ts');
  const status = await runDirectory(options, isatty(1), stopSignal()).catch((error: Error) => {
    streams.err(`kube-netfilter-tailer: ${error.message}\n`);
    return 2;
  });
  return process.exit(status);
}

/** Aborted by SIGTERM and SIGINT. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      stop.abort();
      // Second signal: exit immediately.
      process.once(signal, () => process.exit(1));
    });
  }
  return stop.signal;
}

async function runDoctor(args: string[]): Promise<number> {
  const options = readDoctorOptions(args);
  if (options === 'help') return printHelp(doctorHelp);
  const { doctor } = await import('./commands/doctor/doctor.ts');
  const status = await doctor(options, (text) => {
    try {
      streams.out(text);
    } catch (error) {
      // The exit status still shows what could not be printed.
      if (!hasReadEnough(error)) throw error;
    }
  });
  // Not waiting for what did not answer in time.
  return process.exit(status);
}

async function runReport(args: string[]): Promise<number> {
  const options = readReportOptions(args, isatty(1));
  if (options === 'help') return printHelp(reportHelp);
  const loaded = await loadReport('report', 'Copy the rows there: npm start --silent -- report ROWS > report.html');
  return loaded === undefined ? 2 : await loaded.report(options, streams);
}

/** Undefined where it is not there, which standard error says. */
async function loadReport(what: string, instead: string): Promise<typeof import('./commands/report.ts') | undefined> {
  const loaded = await import('./commands/report.ts').catch((error: NodeJS.ErrnoException): undefined => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' && error.code !== 'MODULE_NOT_FOUND') throw error;
    streams.err(
      `kube-netfilter-tailer: ${what} is no part of the image, the npm package and the executables; a checkout has it. ${instead}\n`,
    );
  });
  if (loaded !== undefined) stopSignal().addEventListener('abort', () => process.exit(1));
  return loaded;
}

async function runReplay(args: string[]): Promise<number> {
  const options = readReplayOptions(args, { isTerminal: isatty(1) });
  if (options === 'help') return printHelp(replayHelp);
  if (options.explain !== undefined) return explainLine(options.explain, options, streams);
  if (options.output !== 'html') return await replay(options, streams);
  const loaded = await loadReport(
    'the page',
    'There: npm start --silent -- replay --output html --pods FILE LOG > replay.html',
  );
  return loaded === undefined ? 2 : await replay(options, streams, loaded.report);
}

async function runWhy(args: string[]): Promise<number> {
  const options = readWhyOptions(args, 'why');
  if (options === 'help') return printHelp(whyHelp);
  const { why } = await import('./commands/why/why.ts');
  const status = await why(options, streams);
  // Not waiting for connections that are kept.
  return process.exit(status);
}

async function runSuggest(args: string[]): Promise<number> {
  const options = readWhyOptions(args, 'suggest');
  if (options === 'help') return printHelp(suggestHelp);
  const { suggestPolicies } = await import('./commands/why/suggest.ts');
  return process.exit(await suggestPolicies(options, streams));
}

/** `drops`, and what stands behind it in place of the name of a Pod. */
async function runDrops([first = '', ...rest]: string[]): Promise<number> {
  if (isPlugin && first === '--version') return print(`${version}\n`);
  if (first === 'report') return await runReport(rest);
  if (first === 'top') return await runTop(rest);
  const isWhy = first === 'why';
  if (isWhy && rest.some((each) => /^--(?:from|to|policies)(?:=|$)/.test(each))) return await runWhy(rest);
  const given = isWhy ? rest : [first, ...rest].filter((each) => each !== '');
  const options = readDropsOptions(first === 'help' ? ['--help'] : given, dropsName);
  if (options === 'help') return printHelp(dropsHelp(dropsName));
  if (isWhy) {
    if (options.target.kind !== 'pod') throw new UsageError(['why: of which Pod?'], '', dropsName);
    const { whyPod } = await import('./commands/drops/why-pod.ts');
    return process.exit(await whyPod(options, `${dropsName} why`, streams));
  }
  const { drops } = await import('./commands/drops/drops.ts');
  // Not waiting for connections that are kept.
  return process.exit(await drops(options, dropsName, streams));
}

async function runTop(args: string[]): Promise<number> {
  const options = readTopOptions(args, dropsName, isatty(0) && isatty(1) && environment()['TERM'] !== 'dumb');
  if (options === 'help') return printHelp(topHelp(dropsName));
  const { top } = await import('./commands/top/top.ts');
  return process.exit(await top(options, `${dropsName} top`, streams, stopSignal()));
}
