import { expect, test } from 'vitest';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { replay } from './program.ts';
import { cluster, eventsIn, json, writerIn } from './scene.ts';

/** Saved logs in which one program has written the words of another. */

const write = writerIn(temporaryFolder());

test('packet lines that a client makes sshd log are refused and counted', async () => {
  const packet = 'SIP: 10.244.0.41;SPORT: 40112;DIP: 10.244.1.30;DPORT: 5432;PROTOCOL: TCP;PolicyVerdict: DENY';
  const own = write('network-policy-agent.log', `Node: node-b;${packet}\n`);
  const sshd = write('auth.log', `Nov 21 10:15:03 node-b sshd[1]: Node: node-b;${packet}\n`);
  const options = ['--pods', cluster, '--now', '2026-11-21T12:00:00Z'];
  expect((await replay([...options, own])).out).toMatch(/PacketDrop .* 10\.244\.0\.41|PacketDrop .*worker/);
  const { out, err } = await replay([...options, sshd]);
  expect(`${out}${err}`).not.toMatch(/PacketDrop/);
  expect(`${out}${err}`).toMatch(/^refused +1 /m);
});

const failing = `E1121 09:00:00.836390 77 proxier.go:1564] "Failed to execute iptables-restore" err="exit status 4: Another app is currently holding the xtables lock"`;

/** Three times a line of a hook, and what may be the rest of it. */
function records(lineBreak: object): string {
  const ofStream = { _TRANSPORT: 'stdout', _STREAM_ID: 'a', _SYSTEMD_UNIT: 'k3s.service', SYSLOG_IDENTIFIER: 'k3s' };
  const made = [0, 30, 60].flatMap((second) => {
    const time = Date.parse('2026-11-21T10:00:00Z') + second * 1000;
    const common = { ...ofStream, _HOSTNAME: 'node-b', __REALTIME_TIMESTAMP: `${time}000` };
    return [
      { ...common, MESSAGE: '\tpwned', ...lineBreak },
      { ...common, MESSAGE: failing },
    ];
  });
  return made.map((record) => `${JSON.stringify(record)}\n`).join('');
}

test('the rest of a line of k3s, which journald made a record of its own, is no record of kube-proxy', async () => {
  expect(eventsIn(await replay([...json, write('whole.json', records({}))]))).not.toEqual([]);
  expect(eventsIn(await replay([...json, write('nul.json', records({ _LINE_BREAK: 'nul' }))]))).toEqual([]);
});
