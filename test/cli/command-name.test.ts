/** How hints that can be copied name the command, and which version it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandName } from '../../cli/command-name.js';
import { finished, perdure } from './command.js';

it.each([
  ['in a clone', '/src/perdure/dist/cli/perdure.js', '/src/perdure', 'npx perdure'],
  ['below a clone', '/src/perdure/dist/cli/perdure.js', '/src/perdure/examples/trip-desk', 'npx perdure'],
  ['in a project that has it', '/src/shop/node_modules/.bin/perdure', '/src/shop', 'npx perdure'],
  ['outside of the clone', '/src/perdure/dist/cli/perdure.js', '/src/shop', 'node /src/perdure/dist/cli/perdure.js'],
  ['beside the clone', '/src/perdure/dist/cli/perdure.js', '/src/perdure-2', 'node /src/perdure/dist/cli/perdure.js'],
  ['installed for all', '/usr/bin/perdure', '/src/shop', 'perdure'],
])('%s', (_where, script, cwd, name) => {
  expect(commandName(script, cwd)).toBe(name);
});

it('help and version say what a person types, and the version of the package', async () => {
  const root = join(import.meta.dirname, '../..');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(await finished(perdure(['--version']))).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  const help = await finished(perdure(['run', '--help']));
  expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: npx perdure run \[options\]/) });
  const temporal = await finished(perdure(['temporal', '--version']));
  expect(temporal).toMatchObject({ code: 0, stdout: expect.stringMatching(/^temporal version /) });
});
