/**
 * `npm run hostile`: runs an agent in a cgroup of 192 MiB, at a real API server. An attacking tenant writes
 * everything that the API server accepts from it, logs what its Pods can make the kernel log, and asks the agent's
 * listeners anything. At the same time an honest tenant loses packets at known times. The run fails if the agent
 * ends or answers its probes late, or if an Event, an incident or a flow record of the honest tenant is missing,
 * late, different from that without the attacker, or names the attacker.
 *
 *     npm run hostile                                      all attacks, several at once, in at most three minutes
 *     npm run hostile -- --minutes 60                      each alone with more objects, then random groups
 *     npm run hostile -- --attacks service-ports,packet-flood
 *     npm run hostile -- --together 3 --preparation 20     three attacks in each round, whose objects are made in at most 20 s
 *     npm run hostile -- --audit                           also compares flow records, which --minutes does in every other round
 *     npm run hostile -- --seed 7                          the same attacks again
 */
import { parseArgs } from 'node:util';
import { buildBundle } from '../e2e/bundle.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { preparePrograms } from '../programs/install.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { attackNamed, attacks } from './attacks/attacks.ts';
import { type Accounts, setUpCluster } from './cluster.ts';
import { comparedIn, type EventLog } from './event-log.ts';
import type { AuditRows } from './honest-audit.ts';
import { honestKeys, lossCount } from './honest-tenant.ts';
import { comparableTo, problemsOf, remarksOf } from './judge.ts';
import { planRounds } from './plan.ts';
import { setPrecedence } from './precedence.ts';
import { type JudgedRound, tableOf } from './report.ts';
import { playRound, type RoundOptions } from './round.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '150' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    attacks: { type: 'string', default: attacks.map(({ name }) => name).join(',') },
    together: { type: 'string' },
    preparation: { type: 'string' },
    audit: { type: 'boolean', default: false },
  },
});
const names = values.attacks.split(',');
for (const name of names) attackNamed(name);
const seed = Number(values.seed);
const began = performance.now();
const isLong = values.minutes !== undefined;
const lasts = (isLong ? Number(values.minutes) * 60 : Number(values.seconds)) * 1000;

console.log(`seed ${seed}`);
await preparePrograms('e2e');
await buildBundle();
// The folder is removed when this process ends, even by a signal. This process's children and cgroups end with it.
const folder = scratchFolder('hostile');
const plane = await startControlPlane();
// The attacker may load the API server itself; other lanes should do so less.
for (const name of ['etcd', 'kube-apiserver']) setPrecedence(plane.pidOf(name), -5);
let status = 1;
try {
  status = await run(await setUpCluster(plane));
} catch (error) {
  console.error(error);
} finally {
  await plane.stop();
}
// Processes that were started and have not ended end with this process.
process.exit(status);

async function run(accounts: Accounts): Promise<number> {
  const common = { plane, accounts, folder, seed, duration: isLong ? 15_000 : 8000 };
  const hasAudit = isLong || values.audit;
  const isComplete = (log: EventLog, audit: AuditRows): boolean =>
    missingIn(log).length === 0 && (!hasAudit || hasAll(audit));
  const quiet = await playRound({ ...common, attacks: [], preparation: 0, isComplete, hasAudit });
  if (!isComplete(quiet.events, quiet.audit))
    throw new Error(
      `[hostile] without an attacker, not all is there: ${missingIn(quiet.events).join(', ') || 'flow records'}`,
    );
  const rounds: JudgedRound[] = [];
  const judge = async (options: RoundOptions): Promise<void> => {
    const round = await playRound(options);
    const problems = problemsOf(round, comparableTo(round.attacks, quiet));
    rounds.push({ round, problems });
    console.error(tableOf(rounds.slice(-1), quiet.events).split('\n').at(-1));
  };
  rounds.push({ round: quiet, problems: problemsOf(quiet, quiet) });
  console.error(tableOf(rounds, quiet.events));
  const prepares = Number(values.preparation ?? (isLong ? 40 : 6)) * 1000;
  const together = values.together === undefined ? (isLong ? 1 : 5) : Number(values.together);
  let longest = 0;
  const missed: string[] = [];
  for (const planned of planRounds(names, together, seed, isLong)) {
    const now = performance.now();
    if (now - began + longest > lasts) {
      if (isLong && rounds.length > names.length) break;
      missed.push(...planned.attacks);
      continue;
    }
    const preparation = prepares / planned.attacks.length;
    const audits = values.audit || (isLong && planned.seed % 2 === 1);
    const wanted = comparableTo(planned.attacks, quiet);
    await judge({
      ...common,
      ...planned,
      preparation,
      hasAudit: audits,
      isComplete: (log, audit) => isLike(log, wanted.events) && (!audits || isSame(audit, wanted.audit)),
    });
    longest = Math.max(longest, performance.now() - now);
  }
  console.log(`\n${tableOf(rounds, quiet.events)}\n`);
  for (const { round, problems } of rounds)
    for (const problem of [...problems, ...remarksOf(round)])
      console.log(`${round.attacks.join('+') || 'none'}: ${problem}`);
  for (const { round, problems } of rounds)
    if (problems.length > 0)
      for (const warning of round.agent.warnings) console.log(`${round.attacks.join('+')}: the agent logs ${warning}`);
  if (missed.length > 0) console.log(`There was no time for ${missed.join(', ')}.`);
  const failed = rounds.filter(({ problems }) => problems.length > 0);
  for (const { round } of failed)
    if (round.attacks.length > 0)
      console.log(
        `The same again: npm run hostile -- --attacks ${round.attacks.join(',')} --together ${round.attacks.length} --seed ${seed}${round.hasAudit ? ' --audit' : ''}`,
      );
  console.log(`\nhostile, seed ${seed}: ${rounds.length - failed.length} passed, ${failed.length} failed`);
  // No attack is played in the first round.
  if (rounds.length === 1) console.log('No attack was played: the machine is too slow for this time.');
  return failed.length === 0 && rounds.length > 1 ? 0 : 1;
}

/** Whether each Event is as it is without an attacker. */
function isLike(log: EventLog, quiet: EventLog): boolean {
  return comparedIn(quiet).every(([key, { last }]) => {
    const found = log.entries.get(key)?.last;
    return found?.count === last.count && found.message === last.message;
  });
}

/** Whether each flow record is as it is without an attacker. */
function isSame({ flows }: AuditRows, quiet: AuditRows): boolean {
  return [...quiet.flows].every(([key, { packets }]) => flows.get(key)?.packets === packets);
}

/** The rounds to compare with that are missing. */
function missingIn({ entries }: EventLog): readonly string[] {
  const missing = [...honestKeys].filter(([key, { verdict }]) => {
    const message = entries.get(key)?.last.message;
    return message === undefined || (verdict === 'denied' && !message.includes('Denied'));
  });
  return missing.map(([key]) => key);
}

/** Each loss has one flow, however many objects have Events about it. */
function hasAll({ flows }: AuditRows): boolean {
  return flows.size === lossCount;
}
