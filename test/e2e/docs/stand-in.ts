/** node stand-in.ts PROGRAM ARGUMENT…: plays a program of `played.ts`. Ends with 64 where that would not know its arguments. */
import { argv, exit, stderr, stdout } from 'node:process';
import { play, played } from './played.ts';

const [, , name = '', ...args] = argv;
const program = played[name];
const printed = program === undefined ? undefined : play(program, args);
if (printed === undefined) {
  stderr.write(`${name}: unknown option or argument in "${args.join(' ')}", see ${program?.source ?? 'played.ts'}\n`);
  exit(64);
}
stdout.write(`${printed}\n`);
