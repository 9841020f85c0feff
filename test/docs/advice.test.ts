import { expect, test } from 'vitest';
import { commandsInMessage } from './advice.ts';

const tables: { messages: [string, string[]][] } = {
  // Messages, and the commands in them.
  messages: [
    ['Run: kubectl get nodes -o wide', ['kubectl get nodes -o wide']],
    ['See iptables -V in the Pod, on the host.', ['iptables -V']],
    [
      'nc -vz PEER 179; ip route | grep bird. Or kubectl get pods',
      ['nc -vz PEER 179', 'ip route | grep bird', 'kubectl get pods'],
    ],
    [
      'Turn it off: systemctl disable --now firewalld (or ufw disable). Else',
      ['systemctl disable --now firewalld', 'ufw disable'],
    ],
    [
      'Run: kubectl patch pod web --patch=\'{"spec":{"c d":false}}\' Or not.',
      ['kubectl patch pod web --patch=\'{"spec":{"c d":false}}\''],
    ],
    ['what kubectl get nodes shows; else', ['kubectl get nodes']],
    [
      "iptables-save | grep -E -- '-j N?F?LOG'; nft list ruleset",
      ["iptables-save | grep -E -- '-j N?F?LOG'", 'nft list ruleset'],
    ],
    ['kubectl would ignore it, kube-proxy writes iptables rules, nft refuses them', []],
    ['look at /usr/sbin/iptables -V', []],
  ],
};

test.each<[string, string[]]>(tables.messages)('commands in a message: %s', (message, commands) => {
  expect(commandsInMessage(message)).toEqual(commands);
});
