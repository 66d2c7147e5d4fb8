/** What the gateway shows of a configuration. */
import { expect, it } from 'vitest';
import { catalogOf } from '../../cli/gateway-catalog.js';
import { defineAgent, defineConfig } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import { scripted } from '../../providers/index.js';

it.each([
  ['the first agent’s own', { model: 'careful' }, 'careful'],
  ['the configuration’s, where that agent names none', {}, 'quick'],
])('the default profile is the one that a start without an agent gets: %s', (_whose, own, expected) => {
  const profile = { provider: scripted({ turns: [] }), model: 'scripted-1' };
  const config = defineConfig({
    models: { plain: profile, quick: { ...profile, default: true }, careful: profile },
    agents: [
      defineAgent({ agent_id: 'test.first', instructions: 'Play.', ...own }),
      defineAgent({ agent_id: 'test.second', instructions: 'Play.', model: 'plain' }),
    ],
  });
  const { model_profiles } = catalogOf(createRegistry(config));
  expect(model_profiles.filter(({ is_default }) => is_default).map(({ id }) => id)).toEqual([expected]);
});
