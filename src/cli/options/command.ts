/** Commands as data (commander), and the layout of their help. */
import { Command, Help, type Option } from 'commander';
import { withAddresses } from '../../agent/config/docs-url.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { writeAll } from '../../base/platform/file-io.ts';

export const programName = 'kube-netfilter-tailer';

export class UsageError extends Error {
  override name = 'UsageError';

  /** `path`: the command as the user typed it, such as `kubectl drops top`. */
  constructor(problems: readonly string[], path: string) {
    const program = path.startsWith('kubectl drops') ? 'kubectl drops' : programName;
    super(`${problems.map((problem) => `${program}: ${problem}`).join('\n')}\nTry: ${path} --help`);
  }
}

export interface CommandParts {
  readonly summary?: string;
  /** The operands and options, as the first line of the help shows them. */
  readonly usage?: string;
  readonly about: string;
  readonly more?: string;
  readonly argument?: readonly [name: string, help?: string];
  readonly options?: readonly Option[];
  readonly commands?: readonly Command[];
  /** The meaning of each exit status; '' if there is no such status. */
  readonly exits?: readonly string[];
}

/** Columns of help that is written to a file or a pipe. */
const columnsOfFile = 120;
/** The widest option in columns. The text of a wider one begins in the next line. */
const widestTerm = 30;

export function createCommand(name: string, parts: CommandParts): Command {
  const command: Command = new Command(name)
    .description(parts.about)
    .summary(parts.summary ?? '')
    .helpOption('-h, --help', 'this help')
    .helpCommand('help [COMMAND]', 'the help of a command')
    .enablePositionalOptions()
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => writeAll(1, withAddresses(text)),
      writeErr: (text) => writeAll(2, withAddresses(text)),
      getOutHelpWidth: () => process.stdout.columns ?? columnsOfFile,
      getErrHelpWidth: () => process.stderr.columns ?? columnsOfFile,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({
      commandUsage: (): string => [commandPath(command), parts.usage].join(' ').trim(),
      styleUsage(this: Help, usage) {
        return this.boxWrap(usage, (this.helpWidth ?? columnsOfFile) - 'Usage: '.length);
      },
      minWidthToWrap: 20,
      optionTerm,
      longestOptionTermLength,
      optionDescription: ({ description }) => description,
      subcommandTerm: (sub) => sub.name(),
      preformatted: () => false,
      boxWrap,
      visibleCommands,
      formatItem,
      formatHelp: (shown, helper) => formatHelp(shown, helper, parts),
    })
    .exitOverride((error) => {
      // The user has asked for help or the version, or named no command.
      if (error.code.startsWith('commander.help') || error.code === 'commander.version') throw error;
      throw new UsageError([error.message.replace(/^error: /, '').replaceAll('\n', ' ')], commandPath(command));
    });
  if (parts.usage !== undefined) command.usage(parts.usage);
  if (parts.argument !== undefined) command.argument(...parts.argument);
  for (const each of parts.options ?? []) command.addOption(each);
  for (const each of parts.commands ?? []) command.addCommand(each);
  return command;
}

/** Returns the command as the user typed it: `kube-netfilter-tailer config print`. */
export function commandPath(command: Command): string {
  return command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;
}

export function stdinProblems(files: readonly string[]): string[] {
  return files.filter((file) => file === '-').length > 1 ? ['standard input (-) can be read only once'] : [];
}

const units: Readonly<Record<string, Millis>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `90s`, `10m` or `1h30m` as milliseconds; undefined for other texts, and for 0. */
export function durationOf(text = ''): Millis | undefined {
  const parts = /^(?:\d{1,6}[smhd]){1,4}$/.test(text) ? [...text.matchAll(/(\d{1,6})([smhd])/g)] : [];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0), 0) || undefined;
}

/** Indents a long option without a short form, so that all long options are aligned. */
function optionTerm({ flags, short }: Option): string {
  return `${short === undefined ? '    ' : ''}${flags.replace(' <', ' ').replace(/>$/, '')}`;
}

/** Wraps texts at blanks, and example commands so that they can still be pasted. */
function boxWrap(this: Help, text: string, width: number): string {
  const wrapLine = (line: string): string =>
    /^ {2}(?:kubectl|kube-netfilter-tailer|journalctl) /.test(line)
      ? Help.prototype.boxWrap.call(this, line, width - '     \\'.length).replaceAll('\n', ' \\\n    ')
      : Help.prototype.boxWrap.call(this, line, width);
  return text.split('\n').map(wrapLine).join('\n');
}

/** Leaves out `help` where it is the only subcommand. */
function visibleCommands(this: Help, command: Command): Command[] {
  return command.commands.length === 0 ? [] : Help.prototype.visibleCommands.call(this, command);
}

/** An option without a text needs no room before one. */
function longestOptionTermLength(command: Command, helper: Help): number {
  const described = helper.visibleOptions(command).filter(({ description }) => description !== '');
  return Math.max(0, ...described.map((option) => optionTerm(option).length));
}

function formatItem(term: string, width: number, description: string, helper: Help): string {
  if (width <= widestTerm) return Help.prototype.formatItem.call(helper, term, width, description, helper);
  if (description === '') return `  ${term}`;
  const indent = ' '.repeat(10);
  const text = helper.boxWrap(description, (helper.helpWidth ?? columnsOfFile) - indent.length);
  return `  ${term}\n${indent}${text.replaceAll('\n', `\n${indent}`)}`;
}

function formatHelp(command: Command, helper: Help, { more, exits = [] }: CommandParts): string {
  const width = helper.helpWidth ?? columnsOfFile;
  const statuses = exits.flatMap((text, status) =>
    text === '' ? [] : [Help.prototype.formatItem.call(helper, `${status}`, 1, text, helper)],
  );
  return [
    Help.prototype.formatHelp.call(helper, command, helper),
    ...(more === undefined ? [] : [`${helper.boxWrap(more, width)}\n`]),
    ...(exits.length > 0 ? helper.formatItemList('Exit status:', statuses, helper) : []),
  ].join('\n');
}
