/** Commands that go through a gateway, with no Temporal server in sight. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createOrgs, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld } from '../gateway/gateway-world.js';
import { call } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { finished, jsonLines, perdure, script } from './command.js';

describe('a command with --url', () => {
  let world: World;
  let server: GatewayWorld;
  beforeAll(async () => {
    world = await createWorld(treeConfig());
    server = await serveFor(world, { kind: 'off' });
  });
  afterAll(async () => {
    await server.stop();
    await world.end();
  });
  const through = (...args: string[]) => perdure([...args, '--url', server.url]);

  it('runs an agent and shows what it says, line by line or as JSON', async () => {
    const input = script(
      { text: 'Looking.', tool_calls: [call('tools.echo', { text: 'a' })] },
      { text: 'It is done.' },
    );
    const plain = await finished(through('run', 'test.node', input, '--run-id', 'url-plain'));
    expect(plain).toMatchObject({ code: 0, stdout: expect.stringContaining('It is done.') });
    const json = await finished(through('run', 'test.node', input, '--json', '--run-id', 'url-json'));
    const durable = jsonLines(json.stdout).filter((line) => 'seq' in line);
    expect(durable).toEqual(await world.logOf('url-json'));
    // The gateway takes the same request as the same run, and another one under its id as a mistake.
    const again = await finished(through('run', 'test.node', input, '--run-id', 'url-json'));
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('It is done.') });
    const other = await finished(through('run', 'test.node', script({ text: 'Other.' }), '--run-id', 'url-json'));
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('started by another request') });
  });

  it('inspects, draws and answers, and repeats the address in what it tells to type', async () => {
    const input = script(
      { tool_calls: [child([{ tool_calls: [ask('When?')] }, { text: 'ok' }])] },
      { text: 'The end.' },
    );
    await world.client.runs.start({ agent_id: 'test.node', input, run_id: 'url-tree' });
    await until(async () => (await world.client.runs.get('url-tree')).awaits.length > 0, 'the question');
    const open = await finished(through('answer', 'url-tree'));
    expect(open.stdout).toContain('When?');
    expect(open.stdout).toContain(`--url ${server.url}`);
    expect(await finished(through('answer', 'url-tree', 'now'))).toMatchObject({ code: 0 });
    await world.logOf('url-tree');
    const { stdout } = await finished(through('inspect', 'url-tree'));
    expect(stdout).toContain('The end.');
    const events = await finished(through('inspect', 'url-tree', '--events', '--json'));
    expect(jsonLines(events.stdout)).toEqual(await world.logOf('url-tree'));
    const tree = await finished(through('tree', 'url-tree', '--json'));
    expect(JSON.parse(tree.stdout)).toMatchObject({ run_id: 'url-tree', children: [{ run_id: 'url-tree/call_1_1' }] });
  });

  it('chats with what a token of its own may see: the messages are those of the thread', async () => {
    const orgs = await createOrgs();
    const guarded = await serveFor(world, orgs.auth);
    onTestFinished(async () => {
      await guarded.stop();
      await orgs.remove();
    });
    const first = script({ text: 'One.' }, { text: 'Two.' });
    const env = { PERDURE_TOKEN: orgs.ann };
    const stdin = `${first}\nand then?\n`;
    const { code, stdout } = await finished(perdure(['chat', '--url', guarded.url], { env, stdin }));
    expect(code).toBe(0);
    expect(stdout.match(/^> .*$/gm)).toEqual([`> ${first}`, '> and then?']);
    expect(stdout).toMatch(/\nOne\.\n[^]*\nTwo\.\n/);
    const nobody = await finished(perdure(['chat', '--url', guarded.url], { stdin }));
    expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining('the request names nobody') });
  });

  it('takes the address from PERDURE_URL, where no server is named', async () => {
    const env = { PERDURE_URL: server.url };
    const missing = await finished(perdure(['inspect', 'url-nowhere'], { env }));
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no run "url-nowhere"') });
    const other = await finished(perdure(['inspect', 'x', '--address', '127.0.0.1:1'], { env }));
    expect(other).toMatchObject({ code: 5, stderr: expect.stringContaining('no Temporal server can be reached') });
  });

  it('says what is wrong with the address', async () => {
    const both = await finished(through('inspect', 'x', '--address', '127.0.0.1:1'));
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('give one or the other') });
    const wrong = await finished(perdure(['inspect', 'x', '--url', '127.0.0.1:2700']));
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--url is "127.0.0.1:2700"') });
    const nobody = await finished(perdure(['inspect', 'x', '--url', 'http://127.0.0.1:1']));
    expect(nobody).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('the gateway at http://127.0.0.1:1 gave no answer'),
    });
  });
});
