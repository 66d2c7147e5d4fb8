/** The `.env` beside the configuration: read before anything else, and told by names alone. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadEnvFile } from '../../cli/env-file.js';
import { finished, perdure, testFolder } from './command.js';

const SECRET = 'sk-never-shown';

function folderWith(env: string, below = '.'): string {
  const folder = testFolder();
  mkdirSync(join(folder, below), { recursive: true });
  // It gets no further than this, and shows what it saw.
  const seen = 'throw new Error(`it saw ${process.env.TAKEN} and ${process.env.SET}`);';
  writeFileSync(join(folder, below, 'perdure.config.mjs'), seen);
  writeFileSync(join(folder, below, '.env'), env);
  return folder;
}

describe('a .env file', () => {
  const env = `TAKEN="from the file"\nSET=from the file\nAPI_KEY=${SECRET}\n`;

  it.each([
    ['dev', ['dev']],
    ['worker', ['worker']],
    ['run', ['run', 'a.b', 'hello']],
    ['chat', ['chat']],
  ])('is there for the configuration in %s, and what is set already wins', async (_name, args) => {
    const command = perdure(args, { cwd: folderWith(env), env: { SET: 'before' } });
    const { code, stdout, stderr } = await finished(command);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('it saw from the file and before') });
    expect(stderr.split('\n')[0]).toBe('read .env: API_KEY, TAKEN');
    expect(stdout + stderr).not.toContain(SECRET);
  });

  it('is looked for beside the configuration that is named, and says where a gateway is', async () => {
    const folder = folderWith('PERDURE_URL=http://127.0.0.1:1\n', 'app');
    const config = ['--config', 'app/perdure.config.mjs'];
    const { code, stderr } = await finished(perdure(['inspect', 'x', ...config], { cwd: folder }));
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('the gateway at http://127.0.0.1:1') });
    expect(stderr).toContain('read app/.env: PERDURE_URL\n');
  });

  it('says how a gateway checks tokens', async () => {
    const folder = folderWith('PERDURE_JWKS_URL=https://issuer.example/keys\n');
    const { code, stderr } = await finished(perdure(['gateway'], { cwd: folder }));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--jwt-issuer and --jwt-audience missing'),
    });
  });

  it('is read where there is no configuration, too, and may be a folder of something else', () => {
    const folder = testFolder();
    expect(loadEnvFile(folder, undefined, {})).toBeUndefined();
    mkdirSync(join(folder, '.env'));
    expect(loadEnvFile(folder, undefined, {})).toBeUndefined();
    const other = testFolder();
    writeFileSync(join(other, '.env'), 'A=1\n# B=2\nexport C=3\n');
    const seen: NodeJS.ProcessEnv = {};
    expect(loadEnvFile(other, undefined, seen)).toBe('read .env: A, C');
    expect(seen).toEqual({ A: '1', C: '3' });
    expect(loadEnvFile(other, undefined, seen)).toBe('read .env: all that it has is set already');
  });
});
