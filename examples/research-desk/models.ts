/** Scripted models, so that no key is needed; a real vendor for both agents where its key is set. */
import type { ModelProfile } from 'perdure/kit';
import { env } from 'node:process';
import { anthropic, gemini, openai, scripted } from 'perdure/providers';
import { researcher, supervisor } from './scripts.js';

const VENDORS: Record<string, () => ModelProfile> = {
  ANTHROPIC_API_KEY: () => ({
    provider: anthropic(),
    model: 'claude-sonnet-4-5',
    price: { input: 3, output: 15, cached_input: 0.3 },
    max_output_tokens: 8_000,
  }),
  OPENAI_API_KEY: () => ({ provider: openai(), model: 'gpt-5-mini', price: { input: 0.25, output: 2 } }),
  GEMINI_API_KEY: () => ({ provider: gemini(), model: 'gemini-2.5-flash', price: { input: 0.3, output: 2.5 } }),
};

export function models(): Record<'supervisor' | 'researcher', ModelProfile> {
  const key = Object.keys(VENDORS).find((name) => (env[name] ?? '') !== '');
  const real = key === undefined ? undefined : VENDORS[key]?.();
  return {
    supervisor: { ...(real ?? { provider: scripted(supervisor), model: 'scripted-supervisor' }), default: true },
    researcher: real ?? { provider: scripted(researcher), model: 'scripted-researcher' },
  };
}
