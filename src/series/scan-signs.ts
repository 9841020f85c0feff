/** Distinguishes a scan from monitoring that is kept out, by what is tried and when; where both are possible, it does not choose. */
import type { Millis } from '../model/log-line.ts';
import type { ScanSigns, Series } from '../model/series.ts';

/** Monitoring asks a Pod on a few ports: this many, by each peer, are a scan. */
const manyPorts = 16;
/** More addresses than health checks come from, where all of them come within a minute. */
const manySources = 64;
const fewSources = 8;

/** One attempt to connect is at most seven packets (net.ipv4.tcp_syn_retries): whoever sends more comes back. */
const packetsOfAttempt = 7;
const minute: Millis = 60_000;
/** A check each minute may come a little late, so that a minute has none. */
const longestPause = 2;
const steadyMinutes = 7;
/** The busiest minute has at most so many times the packets of an average one. */
const steadyPeak = 3;

/**
 * Notes that `weight` packets came at `time`. `tried`: of who scans, gives the series of the Pod that it tried, if there is one.
 */
export function noteScanSigns(series: Series, weight: number, time: Millis, tried: () => Series | undefined): void {
  const signs = (series.scan ??= { since: time, minutes: 0, packets: 0, most: 0, current: 0 });
  const over = Math.floor((time - signs.since) / minute);
  if (over > signs.minutes) endMinute(signs, over, series.peers.seen.length, time);
  signs.current += weight;
  signs.look = isScan(series, signs, tried) ? 'scan' : isMonitoring(series, signs) ? 'monitoring' : undefined;
}

function endMinute(signs: ScanSigns, over: number, tried: number, time: Millis): void {
  const { minutes, packets, most, current } = signs;
  const goesOn = over - minutes <= longestPause && 2 * current >= tried;
  if (goesOn) Object.assign(signs, { minutes: over, packets: packets + current, most: Math.max(most, current) });
  else Object.assign(signs, { since: time, minutes: 0, packets: 0, most: 0 });
  signs.current = 0;
}

function isScan(series: Series, { look }: ScanSigns, tried: () => Series | undefined): boolean {
  const { peers, ports, first, last } = series;
  const isTried = isOfTarget(series);
  if (ports.seen.length < manyPorts) return isTried && peers.seen.length >= manySources && last - first < minute;
  if (look === 'scan') return true;
  // Monitoring of many Pods may need many ports, but not of one Pod.
  return isTried ? ports.seen.length >= manyPorts * peers.seen.length : tried()?.scan?.look === 'scan';
}

/** Few sources come back to one port, minute after minute, at the same pace. */
function isMonitoring(series: Series, { minutes, packets, most }: ScanSigns): boolean {
  const { peers, ports } = series;
  if (ports.seen.length > 1 || (isOfTarget(series) && peers.seen.length > fewSources)) return false;
  if (minutes < steadyMinutes || packets <= packetsOfAttempt * peers.seen.length) return false;
  return most * minutes <= steadyPeak * packets;
}

/** Whether it counts what an object refuses: its peers are those who try. */
function isOfTarget({ finding: { details } }: Series): boolean {
  return details.kind === 'scan' && details.of === 'target';
}
