/** The way in which the tests use the Python SDK. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startScenario } from './run-scenario.js';
import { findOrMakeSdk, INSTALL_TIMEOUT_MS, SDK_VERSIONS, sdkPython } from './sdk-environment.js';

const nowhere = { url: 'http://127.0.0.1:9', token: 'none' };

beforeAll(() => Promise.all(SDK_VERSIONS.map(sdkPython)), INSTALL_TIMEOUT_MS);

describe.each(SDK_VERSIONS)('a scenario with roboto %s', (version) => {
  it('has that version, and says what it sees while it runs', async () => {
    const scenario = await startScenario({ ...nowhere, version, name: 'greeting', given: { word: 'Grüezi' } });
    expect(await scenario.fact('hello')).toEqual({ said: 'hello', version, given: { word: 'Grüezi' } });
    scenario.tell('go on');
    expect((await scenario.end()).map(({ said }) => said)).toEqual(['hello', 'goodbye']);
  });

  it('fails the test where it fails, with its traceback', async () => {
    const scenario = await startScenario({ ...nowhere, version, name: 'greeting' });
    scenario.tell('fail');
    await expect(scenario.end()).rejects.toThrow(/roboto [\d.]+ ended by 1:[^]*RuntimeError: as it was told/);
    await expect(scenario.fact('goodbye')).rejects.toThrow(/without saying "goodbye"/);
  });
});

describe('where the SDK cannot be had', () => {
  it.each([
    ['python3', { PATH: '' }, /python3 -m venv .* failed; install Python/],
    [
      'PyPI',
      { PIP_INDEX_URL: 'http://127.0.0.1:9/', PIP_FIND_LINKS: '', PIP_RETRIES: '0' },
      /pip install .* failed; it must come from PyPI[^]*roboto==0\.47\.0/,
    ],
  ])('a test says that %s is missing, and leaves nothing behind', async (_what, without, message) => {
    const cache = await mkdtemp(join(tmpdir(), 'perdure-cache-'));
    onTestFinished(() => rm(cache, { recursive: true, force: true }));
    await expect(findOrMakeSdk('0.47.0', { ...process.env, XDG_CACHE_HOME: cache, ...without })).rejects.toThrow(
      message,
    );
    expect(await readdir(join(cache, 'perdure', 'roboto'))).toEqual([]);
  });
});
