/** The figures of a replay that matter to a reader. */
export interface Summary {
  lines: number;
  /** The packets dropped or rejected, including link-local chatter. */
  drops: number;
  rejected: number;
  /** The drops that are link-local chatter, by kind. No Event reports them. */
  noise: Record<string, number>;
  /** The other drops without a known Pod at either end. No Event reports them either. */
  withoutPod: number;
  logged: number;
  accepted: number;
  conntrackFull: number;
  martian: number;
  suppressed: number;
  unparsable: number;
}

/** The fields of an audit row that are counted here. */
interface AuditRow {
  'event.action': string;
  'network.packets': number;
  'event.noise'?: string;
}

/**
 * The audit has each dropped packet; the summary for people has everything else. A figure that the summary leaves out
 * is 0. Figures that it always shows must be there, and figures that both have must agree, so that a new wording is
 * noticed.
 */
export function readSummary(text: string, audit: readonly AuditRow[]): Summary {
  const drops = packets(audit);
  if (figure(text, /^drops +([\d,]+)/m) !== drops)
    throw new Error(`the audit has ${drops} packets, the summary another number:\n${text}`);
  const noise = Map.groupBy(
    audit.filter((row) => row['event.noise'] !== undefined),
    (row) => row['event.noise'] ?? '',
  );
  return {
    lines: figure(text, /^lines +([\d,]+)/m),
    drops,
    rejected: packets(audit.filter((row) => row['event.action'] === 'rejected')),
    noise: Object.fromEntries([...noise].map(([kind, rows]) => [kind, packets(rows)])),
    withoutPod: figure(text, /([\d,]+) with no known Pod/, 0),
    logged: figure(text, /([\d,]+) only logged/, 0),
    accepted: figure(text, /([\d,]+) accepted/, 0),
    conntrackFull: figure(text, /([\d,]+) conntrack table full/, 0),
    martian: figure(text, /([\d,]+) martian/, 0),
    suppressed: figure(text, /^suppressed +([\d,]+)/m, 0),
    unparsable: figure(text, /^unparsable +([\d,]+)/m),
  };
}

function packets(rows: readonly AuditRow[]): number {
  return rows.reduce((total, row) => total + row['network.packets'], 0);
}

function figure(text: string, pattern: RegExp, otherwise?: number): number {
  const digits = pattern.exec(text)?.[1]?.replaceAll(',', '');
  if (digits !== undefined) return Number(digits);
  if (otherwise !== undefined) return otherwise;
  throw new Error(`the summary has nothing that matches ${pattern}:\n${text}`);
}
