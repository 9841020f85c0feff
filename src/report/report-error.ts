/** There is no report; `message` says why, or what to do. Exit status 2. */
export class ReportError extends Error {
  override name = 'ReportError';
}
