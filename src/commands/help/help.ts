/** Help of all commands, and what is made of it: completion of shells, and the manual page. */
import { version } from '../../config/config.ts';
import { configHelp } from '../options/config-options.ts';
import { directoryHelp } from '../options/directory-options.ts';
import { doctorHelp } from '../options/doctor-options.ts';
import { dropsHelp } from '../options/drops-options.ts';
import { replayHelp } from '../options/replay-options.ts';
import { reportHelp } from '../options/report-options.ts';
import { runHelp } from '../options/run-options.ts';
import { suggestHelp, whyHelp } from '../options/why-options.ts';
import { UsageError } from '../options/usage-error.ts';
import { completionScript, shells } from './completion.ts';
import { manualPage } from './manual.ts';
import { readHelp } from './read-help.ts';

export const help = `kube-netfilter-tailer ${version}: writes Events on the Pods whose packets a node's netfilter drops

Usage: kube-netfilter-tailer COMMAND

  run         the agent of one node: reads its logs, writes Events
  directory   whose an address is, for the agents of all nodes of a large cluster
  replay      turn saved node logs into Events; no cluster needed
  report      a page on rows of the audit: who was denied what, and what is new
  doctor      check prerequisites, and say what to do
  why         which network policy admits or denies a connection, and at which clause
  suggest     the least new network policy that admits a connection
  drops       list the packets that Pods lost, from the Events; kubectl starts it as: kubectl drops
  config      print the settings in force and where each is from, or check a config file
  completion  print a script that completes commands and options in a shell
  man         print the manual page
  version     print the version

kube-netfilter-tailer COMMAND --help shows more.
`;

export const completionHelp = `Usage: kube-netfilter-tailer completion SHELL

Prints a script for bash, zsh, fish, or kubectl, that completes commands, options and their values.

  source <(kube-netfilter-tailer completion bash)
  source <(kube-netfilter-tailer completion zsh)
  kube-netfilter-tailer completion fish | source
  kube-netfilter-tailer completion kubectl > ~/.local/bin/kubectl_complete-drops
  chmod +x ~/.local/bin/kubectl_complete-drops

The last two are for kubectl drops: kubectl starts a program of that name when it completes a plugin.
`;

function allHelp(): [name: string, text: string][] {
  return [
    ['run', runHelp],
    ['directory', directoryHelp],
    ['replay', replayHelp],
    ['report', reportHelp],
    ['doctor', doctorHelp],
    ['why', whyHelp],
    ['suggest', suggestHelp],
    ['drops', dropsHelp('kube-netfilter-tailer drops')],
    ['config', configHelp],
    ['completion', completionHelp],
  ];
}

/** What `completion` prints. Throws a `UsageError`. */
export function completion(args: readonly string[]): string {
  if (args.includes('--help') || args.includes('-h')) return completionHelp;
  const [given = '', ...more] = args;
  const shell = shells.find((each) => each === given);
  if (shell === undefined || more.length > 0)
    throw new UsageError([`${['completion', ...args].join(' ')}: takes one of ${shells.join(', ')}`], 'completion');
  return completionScript(
    shell,
    allHelp().map(([name, text]) => readHelp(name, text)),
  );
}

/** What `man` prints. */
export function manual(): string {
  return manualPage(
    help,
    allHelp().map(([name, text]) => readHelp(name, text)),
    version,
  );
}
