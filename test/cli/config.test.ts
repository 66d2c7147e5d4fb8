/** Loading `perdure.config.*`: where it is looked for, and what is said when it is wrong. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findConfig } from '../../cli/config-file.js';
import { loadRegistry } from '../../cli/load-config.js';
import { finished, perdure, testFolder } from './command.js';

const root = join(import.meta.dirname, '../..');

/** An application elsewhere, with Perdure in its node_modules. */
function application(file: string, code: string, manifest: object = { type: 'module' }): string {
  const folder = testFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/perdure'));
  symlinkSync(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, file), code);
  return folder;
}

const IMPORTS = `
import { defineAgent, defineConfig, defineTool } from 'perdure/kit';
import { scripted } from 'perdure/providers';
import { z } from 'zod';
`;
const MODELS = `{ scripted: { provider: scripted({ turns: [] }), model: 'none' } }`;
const VALID = `${IMPORTS}
const tool = defineTool({ tool_id: 'app.set.tool', description: 'A tool.', input: z.object({}), run: () => 'done' });
const agents = [defineAgent({ agent_id: 'app.agent', instructions: 'Be.', tools: [tool] })];
export default defineConfig({ agents, models: ${MODELS} });
`;

/** It loads the configuration before anything else, and with these it gets no further. */
const dev = (cwd: string, ...args: string[]) =>
  finished(perdure(['dev', '--temporal-port', '0', '--ui-port', '0', '--http-port', '0', ...args], { cwd }));

describe('a configuration', () => {
  it.each([
    ['TypeScript in a package of modules', 'perdure.config.ts', { type: 'module' }],
    ['TypeScript in a package of CommonJS', 'perdure.config.ts', {}],
    ['JavaScript', 'perdure.config.js', { type: 'module' }],
    ['JavaScript with its own ending', 'perdure.config.mjs', {}],
  ])('may be %s', async (_what, file, manifest) => {
    const folder = application(file, VALID, manifest);
    const registry = await loadRegistry(findConfig(folder));
    expect([...registry.agents.keys()]).toEqual(['app.agent']);
    expect([...registry.tools.keys()]).toEqual(['app.set.tool']);
  });

  it('says how live text travels: by signals, which cost history, only where it names them', async () => {
    const named = VALID.replace('agents,', "agents, runtime: { live: 'temporal', redis_url: 'redis://cache' },");
    const [silent, outspoken] = [application('perdure.config.ts', VALID), application('perdure.config.ts', named)];
    const [plain, told] = [await loadRegistry(findConfig(silent)), await loadRegistry(findConfig(outspoken))];
    expect([plain.runtime.signal_live, plain.redis_url]).toEqual([false, undefined]);
    expect([told.runtime.signal_live, told.redis_url]).toEqual([true, 'redis://cache']);
  });

  it('is reported with all its mistakes at once, by file and field, and the command ends with 2', async () => {
    const folder = application(
      'perdure.config.ts',
      `${IMPORTS}
const nameless = defineTool({ tool_id: 'Bad-Id', description: '', input: z.object({}), run: () => '' });
export default defineConfig({
  agents: [
    defineAgent({ agent_id: 'app.agent', instructions: 'Be.', tools: [nameless] }),
    defineAgent({ agent_id: 'app.agent', instructions: 'Be.', model: 'missing' }),
  ],
  models: ${MODELS},
});`,
    );
    const { code, stdout, stderr } = await dev(folder);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('4 mistake(s) in the configuration');
    expect(stderr).toContain('perdure.config.ts: agents[0].tools[0].tool_id "Bad-Id" is not canonical');
    expect(stderr).toContain('perdure.config.ts: agents[0].tools[0].description of Bad-Id is missing');
    expect(stderr).toContain('perdure.config.ts: agents[1].agent_id "app.agent" is there twice');
    expect(stderr).toContain('perdure.config.ts: agents[1].model "missing" is no model profile');
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it.each([
    [
      'exports nothing',
      'export const x = 1;',
      'perdure.config.ts: the default export is missing: write `export default',
    ],
    [
      'exports an agent',
      `${IMPORTS} export default defineAgent({ agent_id: 'a.b', instructions: 'x' });`,
      'is what defineAgent() returns and not',
    ],
    ['does not parse', 'export default defineConfig({', 'perdure.config.ts cannot be loaded: '],
    ['imports what is not there', "import './nowhere.js'; export default 1;", 'nowhere.js'],
    [
      'throws',
      "export const key = 1;\nthrow new Error('no key');",
      /cannot be loaded: no key \(at .*perdure\.config\.ts:2:\d+\)/,
    ],
  ])('that %s is refused with a reason, without a stack', async (_what, source, message) => {
    const { code, stderr } = await dev(application('perdure.config.ts', source));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it('that throws is shown with the stack with --debug', async () => {
    const folder = application('perdure.config.ts', "throw new Error('no key');");
    const { code, stderr } = await dev(folder, '--debug');
    expect(code).toBe(2);
    expect(stderr).toMatch(/caused by: Error: no key\n {4}at /);
  });

  it('that is named must be there', async () => {
    const { code, stderr } = await dev(testFolder(), '--config', 'elsewhere.ts');
    expect(code).toBe(2);
    expect(stderr).toMatch(/There is no configuration at .*elsewhere\.ts/);
  });
});
