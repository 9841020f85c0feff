/**
 * node unit-writer.ts <socket> <unit> <identifier>: what comes on standard input goes into the journal as systemd hands it there for
 * a service's standard output (systemd src/core/exec-invoke.c, connect_logger_as). journald believes the name of the unit, as this is
 * root's and in no unit's cgroup. Prints a line when it is connected.
 */
import { connect } from 'node:net';
import { argv, stdin, stdout } from 'node:process';

const [, , path = '', unit = '', identifier = ''] = argv;
// journald never answers, and closes its half of the connection at once.
const socket = connect({ path, allowHalfOpen: true }, () => {
  // Identifier, unit, priority, whether lines begin with a priority; not to syslog, kmsg or the console.
  socket.write(`${[identifier, unit, 6, 0, 0, 0, 0].join('\n')}\n`);
  stdin.pipe(socket);
  stdout.write('connected\n');
});
