/** Sub-commands of this project's own program; the documents name some of them without it. */
const own = /^(?:(?:run|replay|doctor) -|config (?:print|check)\b)/;

const option = /^-/;
const anything = /^[^\s=,.;:()]/;
const pipe = /^\|/;

/**
 * Programs that commands in sentences begin with, and how what follows begins: `nft` alone is the name of a program, and `ip nat` that of a
 * table, but `nft list tables` and `ip route` are commands.
 */
const programs: Readonly<Record<string, RegExp>> = {
  'apt-get': /^install /,
  calicoctl: /^(?:node|get|apply) /,
  'firewall-cmd': option,
  ip: /^(?:-\S+ )*(?:route|rule|link|neigh)\b/,
  ipset: /^(?:list|destroy|version)\b/,
  iptables: option,
  ip6tables: option,
  'iptables-save': pipe,
  ipvsadm: option,
  conntrack: option,
  curl: option,
  dmesg: /^[|-]/,
  docker: /^(?:build|buildx|push) /,
  fuser: option,
  journalctl: option,
  'kube-netfilter-tailer': /^(?:run|replay|doctor|why|suggest|config|version|--help)/,
  kubeadm: /^[a-z]/,
  kubectl: /^(?:-|(?:annotate|api-resources|apply|auth|create|delete|describe|exec|get|logs|patch|rollout|set|top)\b)/,
  ls: /^[/-]/,
  modprobe: /^(?:-|\w+_\w+)/,
  nc: option,
  nft: /^(?:-|(?:add|delete|flush|list|monitor)\b)/,
  node: /^(?:--|\w+\/)/,
  npm: /^(?:ci|install|run|start|test)\b/,
  pgrep: option,
  printf: /^'/,
  rmdir: /^\//,
  sysctl: /^(?:-|net\.)/,
  systemctl: /^(?:-|(?:disable|enable|is-active|list-timers|restart|status) )/,
  ufw: /^(?:allow|default|deny|disable|enable|logging|reload|route|status)\b/,
  uname: option,
};

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
