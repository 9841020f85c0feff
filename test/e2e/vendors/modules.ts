import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Downloads the Go module of another project, as the Go checksum database knows it, and returns its folder. */
export async function fetchModule(module: string, version: string): Promise<string> {
  const env = { ...process.env, GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
  const { stdout } = await run('go', ['mod', 'download', '-json', `${module}@v${version}`], { cwd: tmpdir(), env });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}
