import { createLogger } from '../../../src/agent/telemetry/logger.ts';

/** `log-and-exit.ts COUNT`: says on standard error that it begins, logs COUNT lines of 1 KB, and exits at once. */
// Reading `process.stdout` makes a pipe non-blocking, and other code reads it as well.
const terminal = process.stdout.isTTY;
const log = await createLogger({ level: 'info', terminal, node: 'node-a' });
process.stderr.write('begins\n');
for (let number = 0; number < Number(process.argv[2]); number++) log.info({ number }, 'x'.repeat(1000));
process.exit(3);
