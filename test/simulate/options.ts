import { parseArgs } from 'node:util';
import type { Scenario, Size } from './simulation.ts';

export interface Options extends Size {
  scenarios: readonly Scenario[];
  output: string | undefined;
}

const options = {
  scenario: { type: 'string' },
  nodes: { type: 'string', default: '5000' },
  of: { type: 'string' },
  pods: { type: 'string', default: '30' },
  seed: { type: 'string', default: '1' },
  output: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

export function help(scenarios: readonly Scenario[]): string {
  return `Usage: npm run simulate -- [OPTION ...]

Plays what may happen to a cluster, in virtual time, and prints what it costs the API server.

  --scenario NAME,...  only these; default: all
  --nodes N            nodes that are simulated (5000)
  --of N               Nodes that the cluster has, where only some are simulated; default: as many
  --pods N             Pods of each node, besides kube-proxy and calico-node (30; at most 62)
  --seed N             another run of the same scenario (1)
  --output DIR         also writes simulation.md and a picture of each scenario into this folder
  --help               prints this

${scenarios.map(({ name, what }) => `${name}\n    ${what}`).join('\n')}`;
}

/** Throws where an option is wrong. */
export function readOptions(args: readonly string[], scenarios: readonly Scenario[]): Options | 'help' {
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return 'help';
  const names = values.scenario?.split(',');
  const unknown = names?.find((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no scenario ${unknown}; there are ${scenarios.map(({ name }) => name).join(', ')}`);
  const nodes = wholeNumber('nodes', values.nodes, 1, 20_000);
  return {
    scenarios: scenarios.filter(({ name }) => names?.includes(name) ?? true),
    nodes,
    of: values.of === undefined ? nodes : wholeNumber('of', values.of, nodes, 1_000_000),
    podsPerNode: wholeNumber('pods', values.pods, 2, 62),
    seed: wholeNumber('seed', values.seed, 0, 2 ** 31),
    output: values.output,
  };
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > most)
    throw new Error(`--${option} ${text} is no whole number from ${least} to ${most}`);
  return number;
}
