import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Only what hangs takes so long. */
const DOWNLOADS_WITHIN_MS = 600_000;

/** Downloads the Go module of another project, as the Go checksum database knows it, and returns its folder. */
export async function fetchModule(module: string, version: string): Promise<string> {
  const env = { ...process.env, GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
  const command = ['mod', 'download', '-json', `${module}@v${version}`];
  const notice = setTimeout(() => console.warn(`[modules] go ${command.join(' ')} ...`), 5000);
  try {
    const { stdout } = await run('go', command, { cwd: tmpdir(), env, timeout: DOWNLOADS_WITHIN_MS });
    return (JSON.parse(stdout) as { Dir: string }).Dir;
  } catch (cause) {
    throw new Error(`[modules] go ${command.join(' ')} failed, or took ten minutes`, { cause });
  } finally {
    clearTimeout(notice);
  }
}
