const tables: { programs: Record<string, string> } = {
  // Programs that commands in sentences begin with, and how what follows begins: `nft` alone is the name of a program, and `ip nat` that of a table, but `nft list tables` and `ip route` are commands.
  programs: {
    'apt-get': '^install ',
    aws: '^eks',
    az: '^aks',
    calicoctl: '^(?:node|get|apply) ',
    'firewall-cmd': '^-',
    ip: String.raw`^(?:-\S+ )*(?:route|rule|link|neigh)\b`,
    ipset: String.raw`^(?:list|destroy|version)\b`,
    iptables: '^-',
    ip6tables: '^-',
    'iptables-save': String.raw`^\|`,
    ipvsadm: '^-',
    conntrack: '^-',
    curl: '^-',
    dmesg: '^[|-]',
    docker: '^(?:build|buildx|push) ',
    fuser: '^-',
    helm: String.raw`^(?:-n \S+ )?(?:install|template|uninstall|upgrade)`,
    journalctl: '^-',
    'kube-netfilter-tailer': '^(?:run|replay|doctor|why|suggest|config|version|--help)',
    kubeadm: '^[a-z]',
    kubectl: String.raw`^(?:-|(?:annotate|api-resources|apply|auth|create|delete|describe|exec|get|logs|patch|rollout|set|top)\b)`,
    ls: '^[/-]',
    modprobe: String.raw`^(?:-|\w+_\w+)`,
    nc: '^-',
    nft: String.raw`^(?:-|(?:add|delete|flush|list|monitor)\b)`,
    node: String.raw`^(?:--|\w+\/)`,
    npm: String.raw`^(?:ci|install|run|start|test)\b`,
    pgrep: '^-',
    printf: "^'",
    rmdir: String.raw`^\/`,
    sysctl: String.raw`^(?:-|net\.)`,
    systemctl: '^(?:-|(?:disable|enable|is-active|list-timers|restart|status) )',
    ufw: String.raw`^(?:allow|default|deny|disable|enable|logging|reload|route|status)\b`,
    uname: '^-',
  },
};

/** Sub-commands of this project's own program; the documents name some of them without it. */
const own = /^(?:(?:run|replay|doctor) -|config (?:print|check)\b)/;

const anything = /^[^\s=,.;:()]/;

/** Programs that commands in sentences begin with, and how what follows begins. */
const programs: Readonly<Record<string, RegExp>> = Object.fromEntries(
  Object.entries(tables.programs).map(([name, pattern]) => [name, new RegExp(pattern)]),
);

/** The command line that `code` is, with the program's name where it was left out; `undefined` if it is something else. */
export function asCommand(code: string): string | undefined {
  if (own.test(code)) return `kube-netfilter-tailer ${code}`;
  if (/^(?:(?:\.\/|scripts\/)\S*|\.ci\/run(?: [\w-]+)*)$/.test(code) || /^(?:\.|scripts)\/\S+\.sh /.test(code))
    return code;
  const [, program = '', rest = ''] = /^(\S+) (.*)$/s.exec(code) ?? [];
  const follows = Object.hasOwn(programs, program) ? programs[program] : undefined;
  return follows?.test(rest) === true && anything.test(rest.replace(/^[|]\s*/, '')) ? code : undefined;
}

/** Matches the name of a known program in a text. */
export const programNames = new RegExp(
  String.raw`(?<![\w./-])(?:${Object.keys(programs)
    .toSorted((a, b) => b.length - a.length)
    .join('|')})(?= )`,
  'g',
);
