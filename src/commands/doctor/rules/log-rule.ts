/** A rule that logs. */
export interface LogRule {
  /** `LOG` goes to the kernel's log, `NFLOG` to whoever listens to a group. */
  target: 'LOG' | 'NFLOG';
  /** As it is printed, white space at its end included; '' if there is none. */
  prefix: string;
  /** Of NFLOG. */
  group: number | undefined;
  /** Packets that it has matched; undefined where it has no counter. */
  packets: number | undefined;
}

/** The rules that one program prints. */
export interface RuleSet {
  backend: 'legacy' | 'nft';
  /** Rules, jumps included; undefined where they are not iptables' own. */
  rules: number;
  /** Whether kube-proxy or Calico have chains with rules there. */
  hasClusterChains: boolean;
  logs: readonly LogRule[];
}
