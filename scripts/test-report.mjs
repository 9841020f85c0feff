// What a run of vitest came to: `PASSED FAILED` on the first line, then each failure with the beginning of its message.
// A run without any suite, or without a report, has passed nothing.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const linesOfEach = 25;

const report = read(process.argv[2]);
const passed = report.numTotalTestSuites > 0 ? report.numPassedTests : 0;
console.log(passed, report.numFailedTests);
for (const file of report.testResults) {
  const name = relative(process.cwd(), file.name);
  const failures = file.assertionResults.filter(({ status }) => status === 'failed');
  for (const { fullName, failureMessages } of failures) show(`${name}: ${fullName}`, failureMessages.join('\n'));
  if (file.status === 'failed' && failures.length === 0) show(name, file.message ?? '');
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const testResults = [{ name: path, status: 'failed', message: String(error), assertionResults: [] }];
    return { numTotalTestSuites: 0, numPassedTests: 0, numFailedTests: 1, testResults };
  }
}

function show(name, message) {
  const lines = message.split('\n').filter((line) => !line.includes('/node_modules/vitest/'));
  console.log(`FAILED ${name}`);
  for (const line of lines.slice(0, linesOfEach)) console.log(`    ${line}`);
}
