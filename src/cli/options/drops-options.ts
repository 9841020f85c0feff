import type { Command } from 'commander';
import {
  clusterOf,
  type ClusterOptions,
  kubectlGroup,
  kubectlOptions,
  namespaceOptions,
  nodeName,
} from './cluster-options.ts';
import { createCommand } from './command.ts';
import { filterGroup, filterOptions, filterProblems, type FilterValues, readTarget } from './filter-options.ts';
import { type TargetName, workloadWords } from './target-name.ts';
import { checked, converted, optionsOf, type OptionTable, readOptions } from './option-table.ts';
import { connectionOptions } from './why-options.ts';

const dropsFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type DropsFormat = (typeof dropsFormats)[number];

export interface DropsOptions extends ClusterOptions {
  /** Undefined for all Pods. */
  readonly target: TargetName | undefined;
  readonly selector: string | undefined;
  readonly node: string | undefined;
  readonly filters: FilterValues;
  readonly output: DropsFormat;
  readonly watch: boolean;
  readonly all: boolean;
}

const listOptions = {
  selector: {
    short: 'l',
    value: 'SELECTOR',
    help: 'only drops of Pods with these labels',
    schema: checked((text) => text !== '' && text.length <= 1000, 'must have 1 to 1000 characters'),
  },
  ...namespaceOptions,
  node: { value: 'NODE', help: 'only drops on this Node', schema: nodeName },
  all: { help: 'also list network incidents of nodes' },
  watch: { short: 'w', help: 'keep listing new drops' },
  output: {
    short: 'o',
    value: 'FORMAT',
    help: 'wide: also node and message; json, yaml: the Events; name: their names',
    choices: dropsFormats.slice(1),
    schema: converted(
      // As in kubectl, -o=json is also allowed.
      (text) => dropsFormats.find((each) => each === text.replace(/^=/, '')),
      `must be ${dropsFormats.slice(1).join(', ')}; for others: kubectl get events`,
    ),
  },
} as const satisfies OptionTable;

/** `readTarget` reads it, and reports further operands as problems. */
const operand = [
  '[POD]',
  `POD, NAMESPACE/POD, pod/NAME: one Pod. TYPE/NAME: the present Pods of a ${workloadWords}`,
] as const;

export function dropsCommand(name: string, commands: readonly Command[]): Command {
  return createCommand(name, {
    summary: 'list the packets that Pods lost, from the Events; kubectl starts it as: kubectl drops',
    usage: '[POD | TYPE/NAME] [-n NAMESPACE | -A] [OPTION...]',
    about: `Lists the packets that Pods lost, the newest last. Reads the agents' Events with your rights; changes nothing.`,
    more: 'NO_COLOR=1 turns colours off.',
    argument: operand,
    options: [
      ...optionsOf(listOptions),
      ...optionsOf(filterOptions, filterGroup),
      ...optionsOf(kubectlOptions, kubectlGroup),
    ],
    commands,
    exits: [
      'listed, even if the result is empty',
      'the API server refused, or cannot be reached',
      'the command line or the kubeconfig is wrong',
    ],
  }).allowExcessArguments();
}

export function readDropsOptions(command: Command): DropsOptions {
  return readOptions(command, { ...listOptions, ...filterOptions, ...kubectlOptions }, (given, problems) => {
    const { selector, node, output = 'table', watch, all } = given;
    const { target, within } = readTarget(command.args, given, problems);
    problems.push(...filterProblems(given));
    if (selector !== undefined && target !== undefined) problems.push('--selector and a name exclude each other');
    return { ...clusterOf(within), target, selector, node, filters: given, output, watch, all };
  });
}

export interface WhyPodOptions extends ClusterOptions {
  readonly target: TargetName;
  readonly filters: FilterValues;
  readonly output: 'text' | 'json';
}

export function whyPodCommand(): Command {
  return createCommand('why', {
    summary: 'which rule denies the newest drops of a Pod, or any connection',
    usage: 'POD | TYPE/NAME | --from END --to END --port PORT',
    about: 'Names the policy, rule and clause that deny the newest drops of a Pod, or any connection.',
    argument: operand,
    options: [
      ...optionsOf(namespaceOptions),
      ...optionsOf(connectionOptions, 'Any connection'),
      ...optionsOf(kubectlOptions, kubectlGroup),
    ],
  }).allowExcessArguments();
}

/** Stands for a target that is missing, which is a problem. */
const noTarget: TargetName = { kind: 'Pod', namespace: undefined, name: '' };

export function readWhyPodOptions(command: Command): WhyPodOptions {
  const { output } = connectionOptions;
  return readOptions(
    command,
    { ...namespaceOptions, ...filterOptions, ...kubectlOptions, output },
    (given, problems) => {
      if (command.args.length === 0) problems.push('why: of which Pod?');
      const { target = noTarget, within } = readTarget(command.args, given, problems);
      return { ...clusterOf(within), target, filters: given, output: given.output ?? 'text' };
    },
  );
}
