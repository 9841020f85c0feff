/** A command line that cannot be followed. Exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';

  /** `program`: as it was started, as kubectl starts it `kubectl drops`. */
  constructor(problems: readonly string[], command: string, program = 'kube-netfilter-tailer') {
    super(
      `${problems.map((problem) => `${program}: ${problem}`).join('\n')}\nTry: ${[program, command, '--help'].filter((part) => part !== '').join(' ')}`,
    );
  }
}
