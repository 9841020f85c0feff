import { answersRows } from './rows/answers.ts';
import { clockRows } from './rows/clock.ts';
import { credentialsRows } from './rows/credentials.ts';
import { diskRows } from './rows/node-disk.ts';
import { objectsRows } from './rows/objects.ts';
import { testFaults } from './suite.ts';

/**
 * The faults in which the API server itself is well; server.test.ts has the others. Those that take longest come first.
 */
testFaults([objectsRows, answersRows, credentialsRows, diskRows, clockRows]);
