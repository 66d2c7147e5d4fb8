/** Two applications on one machine: whose server a command uses. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findApplication } from '../../cli/application.js';
import { findServer } from '../../cli/find-server.js';
import { DEFAULT_ADDRESS, serverSettings } from '../../cli/server-settings.js';
import { withServerOf } from '../../cli/up-here.js';
import { app, finished, perdure, startDev, temporaryFolder, testFolder } from './command.js';
import type { Dev } from './command.js';

const config = `${app}/perdure.config.ts`;

describe('where another application is up', () => {
  let dev: Dev;
  const folder = temporaryFolder();
  beforeAll(async () => {
    // The built-in demo, whose worker knows nothing of the fixture's agents.
    dev = await startDev(folder, `${folder}/.perdure`);
  });
  afterAll(() => dev.stop());

  const find = async (agentId: string, given?: string) => {
    const said: string[] = [];
    const server = { connection: { address: dev.address }, namespace: 'default', storage: {} };
    const settings = { ...server, ...(given ? { given } : {}) };
    const found = await findServer(settings, findApplication({ config }), agentId, (line) => said.push(line));
    await found?.close();
    return { found: found !== undefined, said };
  };

  it('an agent of ours is not left to its workers, unless somebody named that server', async () => {
    const serves = `${dev.address} serves demo.assistant (started in ${folder}), not "test.script"`;
    expect(await find('test.script')).toEqual({
      found: false,
      said: [`${serves}: starting a server for this command`],
    });
    await expect(find('test.script', '--address')).rejects.toMatchObject({
      code: 'unknown_agent',
      message: expect.stringContaining(serves),
    });
  });

  it('an agent of its own is left to it, and one that neither has is an error', async () => {
    expect(await find('demo.assistant')).toEqual({ found: true, said: [] });
    await expect(find('demo.nobody')).rejects.toMatchObject({ code: 'unknown_agent' });
  });

  it('commands in its folder find it without being told the address', async () => {
    const run = await finished(perdure(['run', 'demo.assistant', 'hello', '--run-id', 'found-1'], { cwd: folder }));
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect((await finished(perdure(['inspect', 'found-1'], { cwd: folder }))).stdout).toContain('success');
    const list = ['temporal', 'workflow', 'describe', '--workflow-id', 'found-1', '-o', 'json'];
    const { code, stdout } = await finished(perdure(list, { cwd: folder }));
    expect({ code, described: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      described: { workflowExecutionInfo: { execution: { workflowId: 'found-1' }, type: { name: 'agentRun' } } },
    });
  });

  it('what a named server or the environment says wins over the folder', async () => {
    const flags = await finished(perdure(['inspect', 'found-1', '--address', '127.0.0.1:1'], { cwd: folder }));
    expect(flags).toMatchObject({ code: 5, stderr: expect.stringContaining('127.0.0.1:1 (from --address)') });
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const list = ['temporal', 'workflow', 'list', '--client-connect-timeout', '1s'];
    expect((await finished(perdure(list, { cwd: folder, env }))).stderr).toContain('127.0.0.1:1');
  });
});

it('one that was killed counts no more', async () => {
  const folder = testFolder();
  const dataDir = `${folder}/.perdure`;
  const address = () => withServerOf(dataDir, serverSettings({}, {})).connection.address;
  const dev = await startDev(folder, dataDir);
  expect(address()).toBe(dev.address);
  dev.command.signal('SIGKILL');
  await dev.command.exited;
  expect(address()).toBe(DEFAULT_ADDRESS);
});
