/** Makes the lines of kube-proxy 1.36 on a chain that its rules lead to and that is gone, as in samples/kube-proxy-lw8zd-fight.log. */
export function failedSync(chain: string, time: Date): string[] {
  const stamp = `${time.toISOString().slice(5, 10).replace('-', '')} ${time.toISOString().slice(11, 23)}000       1`;
  return [
    `E${stamp} proxier.go:1406] "Failed to execute iptables-restore" err=<`,
    `\texit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`${chain}':No such file or directory`,
    '\t',
    '\tError occurred at line: 25',
    "\tTry `iptables-restore -h' or 'iptables-restore --help' for more information.",
    ' > ipFamily="IPv4"',
    `I${stamp} proxier.go:673] "Sync failed" ipFamily="IPv4" retryingTime="30s"`,
    `I${stamp} proxier.go:662] "SyncProxyRules complete" ipFamily="IPv4" elapsed="6.144979ms"`,
  ];
}
