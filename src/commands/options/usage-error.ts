/** A command line that cannot be followed. Exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';

  constructor(problems: readonly string[], command: string) {
    super(
      `${problems.map((problem) => `kube-netfilter-tailer: ${problem}`).join('\n')}\nTry: kube-netfilter-tailer ${command} --help`,
    );
  }
}
