import { copy } from '../../../base/platform/address.ts';
import { hashOf } from '../../../base/platform/hash.ts';
import type { ObjectRef } from '../../../base/model/endpoint.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Failing, FailureSign } from '../../../base/model/program-record.ts';
import type { TrackedFailure } from '../incident.ts';
import { attemptSpan, completesWhatFailed, isSameFamily, restartSpan } from './programs.ts';

/** How long flaps and ended incidents are remembered. A failure within this time continues them. */
export const flapMemory: Millis = 900_000;
/** This many restarts within `restartSpan` are an incident, whatever the container logs. */
const restartsToOpen = 3;

export interface AttemptNote {
  /** The failure is more than a flap. */
  repeats: boolean;
  /** The number of older attempts that do not belong to the incident. */
  flaps: number;
}

const attemptsKept = 3;
const subjectsKept = 16;
const pastSubjectsKept = 240;
const longestText = 200;
/** A stamp that is further in the future than this is wrong. */
const farAhead: Millis = 86_400_000;

export function newFailure(code: string, failing: Failing, time: Millis): TrackedFailure {
  return {
    incident: {
      code,
      failing,
      phase: 'suspected',
      first: time,
      last: time,
      failures: 0,
      unpublished: 0,
      endUnpublished: false,
      families: [],
      subjects: [],
      moreSubjects: 0,
      quote: '',
      restarts: 0,
    },
    attempts: [],
    heard: time,
    longestGap: 0,
    fight: false,
    broken: [],
    unfinished: false,
    doubtful: false,
    inThisLife: true,
    pastSubjects: [],
  };
}

export function describe(tracked: TrackedFailure, sign: FailureSign, failingPod: ObjectRef | undefined): void {
  const { incident } = tracked;
  if (failingPod !== undefined) incident.failingPod = failingPod;
  // Keep the quote of an open incident, because nobody can read an Event whose text keeps changing.
  if (incident.phase !== 'open') incident.quote = shortened(sign.quote);
  noteFamily(tracked, sign.family);
  if (sign.subject !== undefined) noteSubject(tracked, shortened(sign.subject));
}

export function noteFamily({ incident, broken }: TrackedFailure, family: string): void {
  if (!broken.includes(family)) broken.push(family);
  if (family !== '' && !incident.families.includes(family)) incident.families.push(family);
}

function noteSubject({ incident, pastSubjects }: TrackedFailure, subject: string): void {
  if (incident.subjects.includes(subject)) return;
  if (incident.subjects.length < subjectsKept) {
    incident.subjects.push(subject);
    return;
  }
  const hash = hashOf(subject) >>> 0;
  if (pastSubjects.length >= pastSubjectsKept || pastSubjects.includes(hash)) return;
  pastSubjects.push(hash);
  incident.moreSubjects = pastSubjects.length;
}

export function noteAttempt(tracked: TrackedFailure, time: Millis, retryInterval: Millis): AttemptNote {
  const { attempts, heard } = tracked;
  const gap = Math.abs(time - heard);
  tracked.heard = Math.max(heard, time);
  const same = attempts.findLast((attempt) => Math.abs(time - attempt.time) <= attemptSpan);
  const run = same ?? (gap <= attemptSpan ? attempts.at(-1) : undefined);
  if (run !== undefined) {
    run.failures++;
    // A full table logs without a pause, so a run of lines that is too long for one attempt is a repeated failure.
    return { repeats: gap <= attemptSpan && tracked.heard - run.time > attemptSpan, flaps: 0 };
  }
  const isFirst = attempts.length === 0;
  const flaps = addAttempt(tracked, time);
  if (isFirst) return { repeats: false, flaps };
  tracked.longestGap = Math.max(tracked.longestGap, gap);
  const again = tracked.healthy === undefined && gap <= 2 * retryInterval;
  return { repeats: again || spanOf(tracked, attemptsKept) <= flapMemory, flaps };
}

/** Notes a failure that only another program can have caused. The second one is more than a flap, even after a success. */
export function noteDeletion(tracked: TrackedFailure, time: Millis, retryInterval: Millis): AttemptNote {
  const { repeats, flaps } = noteAttempt(tracked, time, retryInterval);
  return { repeats: repeats || spanOf(tracked, 2) <= flapMemory, flaps };
}

/** Each restart is an attempt of its own. */
export function noteRestart(tracked: TrackedFailure, time: Millis): AttemptNote {
  const flaps = addAttempt(tracked, time);
  tracked.heard = Math.max(tracked.heard, time);
  return { repeats: spanOf(tracked, restartsToOpen) <= restartSpan, flaps };
}

/** Notes a restart that the incident caused. It does not open the incident, because a single failed start is a flap. */
export function noteConsequence({ attempts }: TrackedFailure): AttemptNote {
  const attempt = attempts.at(-1);
  if (attempt !== undefined) attempt.failures++;
  return { repeats: false, flaps: 0 };
}

/** Takes back the last attempt, unless it is the only one, because it succeeded after all. Returns how many were taken back. */
export function takeBackAttempt({ incident, attempts }: TrackedFailure): number {
  if (attempts.length < 2) return 0;
  incident.failures -= attempts.pop()?.failures ?? 0;
  return 1;
}

function addAttempt(tracked: TrackedFailure, time: Millis): number {
  const { incident, attempts } = tracked;
  attempts.push({ time, failures: 1 });
  // Several logs are read, so lines may be out of order.
  attempts.sort((a, b) => a.time - b.time);
  const dropped = attempts.length > attemptsKept ? attempts.splice(0, attempts.length - attemptsKept) : [];
  // Once the failure has repeated, dropped attempts are part of the incident, so they stay counted.
  if (incident.phase !== 'suspected' || tracked.doubtful) return 0;
  // Older flaps do not belong to this incident.
  for (const { failures } of dropped) incident.failures -= failures;
  incident.first = attempts[0]?.time ?? time;
  return dropped.length;
}

function spanOf({ attempts }: TrackedFailure, count: number): Millis {
  const [first, last] = [attempts.at(-count), attempts.at(-1)];
  return first === undefined || last === undefined ? Infinity : last.time - first.time;
}

/** Notes that an attempt of this family has failed. Returns whether the incident concerns this family. */
export function noteEnd(tracked: TrackedFailure, family: string): boolean {
  if (!tracked.broken.some((other) => isSameFamily(other, family))) return false;
  tracked.unfinished = false;
  return true;
}

/** Returns whether all families have succeeded now. `reportsFailures`: a line would say if the attempt had failed. */
export function noteSuccess(tracked: TrackedFailure, family: string, time: Millis, reportsFailures: boolean): boolean {
  const { incident, broken, heard } = tracked;
  if (incident.phase === 'over' || !broken.some((other) => isSameFamily(other, family))) return false;
  // An older success comes from the log of another container and proves nothing.
  if (time < incident.last) return false;
  // Old releases log even a failed sync as complete, and nothing else.
  if (!reportsFailures && completesWhatFailed(incident.failing) && time - heard <= attemptSpan) return false;
  tracked.broken = broken.filter((other) => !isSameFamily(other, family));
  return tracked.broken.length === 0;
}

/** Moves stamps that are far ahead to the present, because a wrong year would keep the incident open. Returns whether any was. */
export function correctStamps(tracked: TrackedFailure, now: Millis): boolean {
  const { incident, attempts } = tracked;
  if (Math.max(incident.last, tracked.closed ?? 0) <= now + farAhead) return false;
  const past = (time: Millis): Millis => Math.min(time, now);
  incident.first = past(incident.first);
  incident.last = past(incident.last);
  incident.opened &&= past(incident.opened);
  incident.ended &&= past(incident.ended);
  tracked.heard = past(tracked.heard);
  tracked.healthy &&= past(tracked.healthy);
  tracked.closed &&= past(tracked.closed);
  for (const attempt of attempts) attempt.time = past(attempt.time);
  return true;
}

export function shortened(text: string): string {
  return copy(text.slice(0, longestText));
}
