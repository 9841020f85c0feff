/** Totals of problems, for the line of each minute. */
export type ProblemCounts = ReturnType<typeof noProblems>;

export function noProblems() {
  return {
    eventsWritten: 0,
    eventWritesFailed: 0,
    eventsAbandoned: 0,
    requestsFailed: 0,
    recordsLost: 0,
    bytesLost: 0,
    watchRestarts: 0,
    stateErrors: 0,
  };
}
