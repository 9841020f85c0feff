/** One way to call a program. */
export interface Form {
  /** Its words without options, joined by spaces. */
  readonly words: RegExp;
  /** Its options; `undefined` for one without a value. */
  readonly options?: Readonly<Record<string, RegExp | undefined>>;
  readonly prints?: string;
}

export interface Played {
  /** The address or manual page that says what the program accepts. */
  readonly source: string;
  readonly forms: readonly Form[];
}

const something = /./;
const output = /^(?:ps|wide|yaml|json|custom-columns=.+|go-template=.+|go-template-file=.+)$/;
const resource =
  '(?:bgpconfigurations?|bgppeers?|felixconfigurations?|globalnetworkpolic(?:y|ies)|globalnetworksets?|hostendpoints?|ippools?|networkpolic(?:y|ies)|networksets?|nodes?|profiles?|stagednetworkpolic(?:y|ies)|stagedglobalnetworkpolic(?:y|ies)|tiers?|workloadendpoints?)';
const zone = { '--zone': something, '--permanent': undefined };
const release = {
  '--namespace': something,
  '-n': something,
  '--set': /^[\w.]+=/,
  '--values': something,
  '-f': something,
  '--wait': undefined,
};
const units = { '--now': undefined, '--no-pager': undefined, '--quiet': undefined };

/**
 * Programs of other projects that cannot run in a test: they want their daemon, a module of the kernel or a cluster that is theirs. Each takes
 * what its documentation says that it takes, of the commands that matter here.
 */
export const played: Readonly<Record<string, Played>> = {
  calicoctl: {
    source: 'https://docs.tigera.io/calico/latest/reference/calicoctl/',
    forms: [
      {
        words: /^node status$/,
        options: { '--allow-version-mismatch': undefined },
        prints: 'Calico process is running.',
      },
      {
        words: new RegExp(`^get ${resource}(?: \\S+)*$`),
        options: {
          '-o': output,
          '--output': output,
          '-n': something,
          '--namespace': something,
          '-A': undefined,
          '-a': undefined,
        },
        prints: 'NAME',
      },
      { words: /^apply$/, options: { '-f': something, '--filename': something, '-R': undefined, '-n': something } },
    ],
  },
  birdcl: {
    source: 'https://bird.network.cz/?get_doc&v=20&f=bird-4.html and the usage that birdcl -h prints',
    forms: [
      {
        words: /^show (?:protocols(?: all)?|status|interfaces|memory)(?: \S+)?$/,
        options: { '-s': /^\//, '-v': undefined, '-r': undefined },
        prints: 'Name Proto Table State Since Info',
      },
    ],
  },
  docker: {
    source: 'https://docs.docker.com/reference/cli/docker/',
    forms: [
      {
        words: /^(?:build|buildx build) \S+$/,
        options: {
          '--target': something,
          '-t': something,
          '--platform': something,
          '--build-arg': something,
          '--push': undefined,
        },
      },
      { words: /^push \S+:\S+$/ },
    ],
  },
  chronyc: {
    source: 'https://chrony-project.org/doc/4.5/chronyc.html',
    forms: [{ words: /^(?:tracking|sources|sourcestats|activity)$/, prints: 'Leap status     : Normal' }],
  },
  timedatectl: {
    source: 'timedatectl(1) of systemd 239 and newer',
    forms: [{ words: /^(?:status|show|timesync-status|show-timesync)$/, prints: 'Packet count: 1' }],
  },
  systemctl: {
    source: 'systemctl(1)',
    forms: [
      { words: /^(?:is-active|is-enabled|is-failed)(?: \S+)+$/, options: units, prints: 'active' },
      { words: /^(?:status|restart|disable|enable|start|stop|reload)(?: \S+)+$/, options: units },
      { words: /^list-timers$/, options: { '--all': undefined }, prints: 'NEXT LEFT LAST PASSED UNIT ACTIVATES' },
    ],
  },
  'firewall-cmd': {
    source: 'firewall-cmd(1), firewalld.richlanguage(5)',
    forms: [
      { words: /^$/, options: { '--state': undefined }, prints: 'running' },
      { words: /^$/, options: { '--reload': undefined } },
      { words: /^$/, options: { '--set-log-denied': /^(?:all|unicast|broadcast|multicast|off)$/ } },
      { words: /^$/, options: { ...zone, '--add-source': something } },
      { words: /^$/, options: { ...zone, '--add-rich-rule': /^rule(?: \w+(?:="[^"]*")?)+$/ } },
    ],
  },
  ufw: {
    source: 'ufw(8)',
    forms: [
      { words: /^(?:enable|disable|reload|version)$/ },
      { words: /^status(?: (?:verbose|numbered))?$/, prints: 'Status: active' },
      { words: /^logging (?:on|off|low|medium|high|full)$/ },
      { words: /^default (?:allow|deny|reject)(?: (?:incoming|outgoing|routed))?$/ },
      {
        words:
          /^(?:route )?(?:allow|deny|reject|limit)(?: (?:in|out)(?: on \S+)?)?(?: log(?:-all)?)?(?: proto \w+)?(?: from \S+(?: port \S+)?)?(?: to \S+(?: port \S+)?)?$/,
      },
    ],
  },
  helm: {
    source: 'https://helm.sh/docs/helm/',
    forms: [
      { words: /^install \S+ deploy\/helm\/\S+$/, options: { ...release, '--create-namespace': undefined } },
      {
        words: /^upgrade \S+ deploy\/helm\/\S+$/,
        options: {
          ...release,
          '--install': undefined,
          '--reuse-values': undefined,
          '--reset-then-reuse-values': undefined,
        },
      },
      {
        words: /^upgrade cilium cilium\/cilium$/,
        options: { ...release, '--version': something, '--reuse-values': undefined, '--set-json': /^[\w.]+=[[{]/ },
      },
      { words: /^uninstall \S+$/, options: { '--namespace': something, '-n': something, '--wait': undefined } },
    ],
  },
  kubeadm: {
    source: 'https://kubernetes.io/docs/reference/setup-tools/kubeadm/',
    forms: [{ words: /^(?:reset|upgrade)$/, options: { '--help': undefined } }],
  },
  modprobe: {
    source: 'modprobe(8) of kmod',
    forms: [
      {
        words: /^\w+(?: \w+)*$/,
        options: { '-a': undefined, '--all': undefined, '-n': undefined, '-v': undefined, '-q': undefined },
      },
    ],
  },
  lsmod: { source: 'lsmod(8)', forms: [{ words: /^$/, prints: 'Module                  Size  Used by' }] },
  ipvsadm: {
    source: 'ipvsadm(8)',
    forms: [
      { words: /^$/, options: { '-Ln': undefined, '-L': undefined, '-l': undefined, '-n': undefined } },
      { words: /^$/, options: { '-C': undefined } },
    ],
  },
  'apt-get': {
    source: 'apt-get(8)',
    forms: [
      { words: /^install(?: [a-z0-9.+-]+)+$/, options: { '-y': undefined, '--no-install-recommends': undefined } },
    ],
  },
};

/** Returns what the program would print; `undefined` if it does not know one of its arguments. */
export function play({ forms }: Played, args: readonly string[]): string | undefined {
  const form = forms.find((each) => fits(each, args));
  return form === undefined ? undefined : (form.prints ?? '');
}

function fits({ words, options = {} }: Form, args: readonly string[]): boolean {
  const rest: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const [, name = arg, value] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? [];
    if (!name.startsWith('-') || name === '-') rest.push(arg);
    else if (!Object.hasOwn(options, name)) return false;
    else if (options[name] === undefined) {
      if (value !== undefined) return false;
    } else if (!options[name].test(value ?? args[index + 1] ?? '')) return false;
    else if (value === undefined) index += 1;
  }
  return words.test(rest.join(' '));
}
