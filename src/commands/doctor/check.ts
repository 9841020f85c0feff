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

type Answer = (finding: string, advice: string) => Check;

/** The answers that a check of that name may give. */
export interface Answers extends Record<Exclude<Status, 'ok'>, Answer> {
  ok: (finding: string) => Check;
}

/** `unknown`: it could not be found out. That is never counted as a problem, because what is not seen from here may well be right. */
export function answersOf(name: string): Answers {
  const answer =
    (status: Status): Answer =>
    (finding, advice) => ({ name, status, finding, advice });
  return {
    ok: (finding) => ({ name, status: 'ok', finding, advice: undefined }),
    warning: answer('warning'),
    problem: answer('problem'),
    unknown: answer('unknown'),
  };
}
