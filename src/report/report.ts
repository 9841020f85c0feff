/** Makes a report on rows of the audit: reads them into a database, sums them up there, and prints what they come to. */
export { ReportError, type ReportOptions } from './model.ts';
export { eachLine, findFiles } from './read/files.ts';
export { createWorkFolder, writeTemporary } from './work-folder.ts';
export type { runReport } from './run-report.ts';

/** The build makes a file of its own of what this loads, which the image does not have (scripts/build.mjs). */
export const loadReport = async () => await import('./run-report.ts');
