export type Status = 'ok' | 'warning' | 'problem' | 'unknown';

/** What one look at the node or the cluster has found. Keys and their order are those of `--output json`. */
export interface Check {
  /** Stable, and unique within a report: `rights`, `source containers`, `prefix calico-drop:`. */
  name: string;
  status: Status;
  /** One line, for a person. */
  finding: string;
  /** One line that says what to do; undefined when all is well. */
  advice: string | undefined;
}

export function ok(name: string, finding: string): Check {
  return { name, status: 'ok', finding, advice: undefined };
}

export function warning(name: string, finding: string, advice: string): Check {
  return { name, status: 'warning', finding, advice };
}

export function problem(name: string, finding: string, advice: string): Check {
  return { name, status: 'problem', finding, advice };
}

/** It could not be found out. Never counted as a problem: what cannot be seen from here may well be right. */
export function unknown(name: string, finding: string, advice: string): Check {
  return { name, status: 'unknown', finding, advice };
}
