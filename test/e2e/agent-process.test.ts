import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from './agent-process.ts';

// Programs that stand for the agent.
const idle = `
  const print = (entry) => console.log(JSON.stringify(entry));
  setInterval(() => {}, 1000);`;
const server = `
  import { createServer } from 'node:http';
  ${idle}
  let asked = 0;
  const answer = (request, response) => response.writeHead(++asked < 3 ? 503 : 200).end(request.url);
  const listening = createServer(answer).listen(0, '127.0.0.1', () => {
    print({ msg: 'listening', metricsAddress: '127.0.0.1:' + listening.address().port });
  });`;

const started: AgentProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((agent) => agent.kill()));
});

test('it gets the word run, the arguments and no other environment', async () => {
  const agent = start(`${idle} print({ args: process.argv.slice(1), env: process.env });`, ['--once']);
  await expect(agent.untilLog(() => true)).resolves.toEqual({ args: ['run', '--once'], env: { NODE_NAME: 'node-a' } });
});

test('log lines that are there and one to come', async () => {
  const agent = start(`${idle} process.on('SIGUSR2', () => print({ msg: 'second' })); print({ msg: 'first' });`);
  await agent.untilLog(({ msg }) => msg === 'first');
  await agent.untilLog(({ msg }) => msg === 'first');
  const second = agent.untilLog(({ msg }) => msg === 'second');
  agent.signal('SIGUSR2');
  await expect(second).resolves.toEqual({ msg: 'second' });
  expect(agent.log).toEqual([{ msg: 'first' }, { msg: 'second' }]);
});

test('a log line that does not come in time', async () => {
  const agent = start(`${idle} console.log('not JSON'); print({ msg: 'first' });`);
  await agent.untilLog(({ msg }) => msg === 'first');
  const never = agent.untilLog(({ msg }) => msg === 'never', 100);
  await expect(never).rejects.toThrow(
    /^\[agent\] no log line for .*never.*It printed last:\nnot JSON\n{"msg":"first"}$/s,
  );
});

test('it is ready after two refusals', async () => {
  const agent = start(server);
  await agent.untilReady();
  await expect(agent.get('/metrics')).resolves.toEqual({ status: 200, body: '/metrics' });
});

test('code of a regular end', async () => {
  const agent = start(`${idle} process.on('SIGTERM', () => process.exit(3)); print({});`);
  await agent.untilLog(() => true);
  agent.signal('SIGTERM');
  await expect(agent.untilExit()).resolves.toEqual({ code: 3, signal: null });
});

test('signal of a violent end', async () => {
  const agent = start(idle);
  await agent.kill();
  await expect(agent.untilExit()).resolves.toEqual({ code: null, signal: 'SIGKILL' });
});

test('an agent that ends before the awaited line fails with the reason', async () => {
  const agent = start(`console.error('NODE_NAME is missing'); process.exit(2);`);
  await expect(agent.untilReady()).rejects.toThrow(/it ended with code 2\. It printed last:\nNODE_NAME is missing$/);
  expect(agent.errors).toBe('NODE_NAME is missing');
});

test('a program that is not there', async () => {
  const agent = startAgent(['/no/such/program'], {});
  await expect(agent.untilLog(() => true)).rejects.toThrow('/no/such/program: No such file or directory');
});

test('it dies with the process that started it', async () => {
  const script = `
    import { startAgent } from ${JSON.stringify(join(import.meta.dirname, 'agent-process.ts'))};
    const agent = startAgent(${JSON.stringify(command(server))}, {});
    console.log((await agent.untilLog(() => true)).metricsAddress);`;
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'pipe' });
  try {
    const [address] = (await once(createInterface(starter.stdout), 'line')) as [string];
    const connection = connect(Number(address.split(':')[1]), '127.0.0.1');
    await once(connection, 'connect');
    const closed = Promise.withResolvers<void>();
    // Whether by an orderly end or a reset is all the same.
    connection.on('error', () => {}).once('close', closed.resolve);
    starter.kill('SIGKILL');
    await closed.promise;
  } finally {
    starter.kill('SIGKILL');
  }
});

function start(script: string, args: readonly string[] = []): AgentProcess {
  const agent = startAgent(command(script), { NODE_NAME: 'node-a' }, args);
  started.push(agent);
  return agent;
}

function command(script: string): readonly string[] {
  return [process.execPath, '--input-type=module', '--eval', script];
}
