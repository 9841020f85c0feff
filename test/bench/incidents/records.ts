/** Makes the records that a kube-proxy prints at -v=2, as containers print them: several lines are one record. */

/** The lines of an attempt that went well, after a Service has changed. */
export function syncedLines(): string[] {
  return [
    info('proxier.go:668', '"Syncing iptables rules" ipFamily="IPv4" fullSync=false'),
    info(
      'proxier.go:1389',
      '"Reloading service iptables data" ipFamily="IPv4" numServices=412 numEndpoints=1630 numFilterChains=6 numFilterRules=4 numNATChains=7 numNATRules=17',
    ),
    info('proxier.go:662', '"SyncProxyRules complete" ipFamily="IPv4" elapsed="6.259614ms"'),
  ];
}

/** The lines of an attempt that failed, because a chain was gone. */
export function failedLines(chain: string, retry = '30s'): string[] {
  return [
    ...syncedLines().slice(0, 2),
    `E${stamp} 1 proxier.go:1406] "Failed to execute iptables-restore" err=<`,
    `\texit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file or directory`,
    '\t',
    '\tError occurred at line: 25',
    "\tTry `iptables-restore -h' or 'iptables-restore --help' for more information.",
    ' > ipFamily="IPv4"',
    info('proxier.go:673', `"Sync failed" ipFamily="IPv4" retryingTime="${retry}"`),
    ...syncedLines().slice(2),
  ];
}

const stamp = '1121 15:10:06.135959      ';

function info(place: string, text: string): string {
  return `I${stamp} 1 ${place}] ${text}`;
}

/** The records that lines are. */
export function recordsOf(lines: readonly string[]): string[] {
  const records: string[] = [];
  for (const line of lines) {
    if (/^[\t ]/.test(line)) records.push(`${records.pop()}\n${line}`);
    else records.push(line);
  }
  return records;
}
