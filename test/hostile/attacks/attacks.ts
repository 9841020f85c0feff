import type { Attack } from '../attack.ts';
import { clientAttacks } from './clients.ts';
import { containerLogAttacks } from './container-logs.ts';
import { endpointAttacks } from './endpoints.ts';
import { eventAttacks } from './events.ts';
import { packetAttacks } from './packets.ts';
import { podAttacks } from './pods.ts';
import { policyAttacks } from './policies.ts';
import { serviceAttacks } from './services.ts';

/** Each family is in a file. */
export const attacks: readonly Attack[] = [
  ...serviceAttacks,
  ...endpointAttacks,
  ...podAttacks,
  ...policyAttacks,
  ...eventAttacks,
  ...packetAttacks,
  ...containerLogAttacks,
  ...clientAttacks,
];

export function attackNamed(name: string): Attack {
  const found = attacks.find((attack) => attack.name === name);
  if (found === undefined)
    throw new Error(`there is no attack ${name}; there are ${attacks.map((each) => each.name).join(', ')}`);
  return found;
}
