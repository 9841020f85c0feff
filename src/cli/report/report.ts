/** Makes a report on rows of the audit: reads them into a database, sums them up there, and prints the result. */
export { ReportError, type ReportOptions } from './model.ts';
export { createWorkFolder, eachLine, findFiles, objectIn, writeTemporary } from './read/files.ts';
export type { runReport } from './run-report.ts';

/** Loads the report on demand: the build (scripts/build.mjs) puts it into a file of its own, which the image does not contain. */
export const loadReport = async () => await import('./run-report.ts');
