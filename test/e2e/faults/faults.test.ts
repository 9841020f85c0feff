import { answersRows } from './rows/answers.ts';
import { clockRows } from './rows/clock.ts';
import { credentialsRows } from './rows/credentials.ts';
import { diskRows } from './rows/node-disk.ts';
import { objectsRows } from './rows/objects.ts';
import { testFaults } from './suite.ts';

/** Those in which the API server itself is well; the others: server.test.ts. Those that take longest begin. */
testFaults([objectsRows, answersRows, credentialsRows, diskRows, clockRows]);
