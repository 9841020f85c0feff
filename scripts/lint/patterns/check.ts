/** Prints the regular expressions of src that a line of 64 KiB can hold up, and ends with 1 if there is one: part of `npm run lint`. */
import { slowPatterns } from './slow-patterns.ts';

const slow = await slowPatterns();
process.stderr.write(slow.map((pattern) => `${pattern}\n`).join(''));
process.exitCode = slow.length === 0 ? 0 : 1;
