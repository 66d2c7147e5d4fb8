import { describe, expect, it } from 'vitest';
import type { ModelProvider } from '../../contract/model-provider.js';
import { defineAgent, defineConfig } from '../../kit/index.js';
import { fallbackChain } from '../../kit/model-fallback.js';
import { createRegistry } from '../../kit/registry.js';

const provider: ModelProvider = { name: 'silent', async *stream() {} };

function registryOf(chains: Record<string, string[]>) {
  const models = Object.fromEntries(
    Object.entries(chains).map(([name, fallback]) => [name, { provider, model: name, fallback }]),
  );
  const agents = [defineAgent({ agent_id: 'test.bare', instructions: 'x' })];
  return createRegistry(defineConfig({ agents, models }));
}

describe('the chain of a model profile', () => {
  it.each<[Record<string, string[]>, string[]]>([
    [{ a: [] }, []],
    [{ a: ['b', 'c'], b: [], c: [] }, ['b', 'c']],
    [{ a: ['b'], b: ['c'], c: [] }, ['b', 'c']],
    [{ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, ['b', 'd', 'c']],
  ])('of %j goes from a to %j', (chains, chain) => {
    expect(fallbackChain(registryOf(chains).models, 'a')).toEqual(chain);
  });

  it.each<[Record<string, string[]>, RegExp[]]>([
    [{ a: ['x', 'b'], b: [] }, [/models\.a\.fallback has no such model profile: x; there are: a, b/]],
    [{ a: ['a'] }, [/models\.a\.fallback leads back to itself: a, a/]],
    [
      { a: ['b'], b: ['c'], c: ['a'] },
      [/models\.a\.fallback leads back to itself: a, b, c, a/, /models\.c\.fallback leads back to itself: c, a, b, c/],
    ],
    [{ a: 'b' as never, b: [] }, [/models\.a\.fallback is no list/]],
  ])('%j is refused at start', (chains, messages) => {
    for (const message of messages) expect(() => registryOf(chains)).toThrow(message);
  });
});
