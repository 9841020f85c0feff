/**
 * Plays attacks in a process of its own, so that the attacker's work delays neither the honest tenant nor the
 * measurement. Messages tell it what to do, and it answers each.
 */
import { type Address, connect } from '../e2e/control-plane/connection.ts';
import { attackNamed } from './attacks/attacks.ts';
import { createTenant, type TenantControl, type TenantFigures, type TenantOptions } from './tenant.ts';

/** `end`: it stops, and removes everything that it made. */
export type AttackerOrder =
  | ({ readonly kind: 'prepare'; readonly address: Address; readonly attacks: readonly string[] } & Omit<
      TenantOptions,
      'connection'
    >)
  | { readonly kind: 'play'; readonly listeners: { readonly metrics: string; readonly health: string } }
  | { readonly kind: 'end' };

export type AttackerAnswer =
  | { readonly kind: 'prepared' }
  | { readonly kind: 'ended'; readonly figures: TenantFigures; readonly problems: readonly string[] };

let control: TenantControl | undefined;
let attacks: readonly string[] = [];
let playing: Promise<unknown> = Promise.resolve();
const problems: string[] = [];

process.on('message', (order: AttackerOrder) => void follow(order));
process.on('disconnect', () => process.exit());

async function follow(order: AttackerOrder): Promise<void> {
  if (order.kind === 'prepare') {
    const { address, attacks: names, ...options } = order;
    control = createTenant({ ...options, connection: connect(address) });
    attacks = names;
    for (const name of attacks) {
      control.beginPreparation();
      await attackNamed(name).prepare?.(control.tenant).catch(note(name));
    }
    answer({ kind: 'prepared' });
  } else if (order.kind === 'play' && control !== undefined) {
    control.listeners = order.listeners;
    const { tenant } = control;
    playing = Promise.all(attacks.map(async (name) => attackNamed(name).play?.(tenant).catch(note(name))));
  } else if (order.kind === 'end' && control !== undefined) {
    control.end();
    await playing;
    await control.removeAll();
    answer({ kind: 'ended', figures: control.figures(), problems });
  }
}

function note(name: string): (error: unknown) => void {
  return (error) => void problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
}

function answer(message: AttackerAnswer): void {
  process.send?.(message);
}
