import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createOwnFolder } from '../own-folder.ts';
import { writeCrashing } from './crashing.ts';
import { openKernelLog } from './kernel-log.ts';

const seen = { kind: 'packet', verdict: 'logged', prefixRule: 'kernel message' };

// The kernel prints the first 15 characters of the name for the process, and the whole name for the file.
test.each([
  ['a packet', 'drop IN=eth0 OUT=eth1 ', seen],
  ['a packet that begins in the name of the process', 'drop IN=a OUT= ', { kind: 'unparsable' }],
])('a process that crashes, whose file is named as %s, forges no drop', async (_, beginning, expected) => {
  const port = randomInt(1024, 65_536);
  const packet = `SRC=10.244.1.42 DST=10.244.1.30 LEN=60 PROTO=TCP SPT=1 DPT=${port} SYN `;
  const file = join(createOwnFolder('crashing'), `${beginning}${packet}`);
  writeCrashing(file);
  const log = openKernelLog();
  const [, signal] = (await once(spawn(file, { stdio: 'ignore' }), 'exit')) as [null, NodeJS.Signals];
  expect(signal).toBe('SIGSEGV');
  const [line = ''] = await log.untilTaken(packet, 1);
  log.close();
  expect(parse(line, createPrefixTable(), 'kernel', undefined)).toMatchObject(expected);
});
