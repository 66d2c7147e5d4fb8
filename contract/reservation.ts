/** What a model call may use at most, by estimate, and what it costs. No zod: workflows import it. */
import type { AgentSpec, ModelSpec, Price } from './agent-spec.js';
import type { ChatInvokeUsage } from './completion.js';

export interface Reservation {
  tokens: number;
  cost_usd: number;
}

export const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;
const CHARACTERS_PER_TOKEN = 4;
/** What a synthesis pass is told on top. */
const DIRECTIVE_CHARACTERS = 400;

export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** What is in every model call beside the messages. */
export function fixedCharacters(spec: AgentSpec | undefined): number {
  return (spec?.instructions.length ?? 0) + JSON.stringify(spec?.tools ?? []).length + DIRECTIVE_CHARACTERS;
}

/** How many characters of messages leave room for an answer in the model's window; undefined where that is not known. */
export function roomForMessages(spec: AgentSpec): number | undefined {
  const { context_tokens, max_output_tokens = DEFAULT_MAX_OUTPUT_TOKENS }: ModelSpec = spec.model;
  if (context_tokens === undefined) return undefined;
  return (context_tokens - max_output_tokens) * CHARACTERS_PER_TOKEN - fixedCharacters(spec);
}

export function reservationOf(
  model: { max_output_tokens?: number | undefined; price?: Price | undefined } | undefined,
  characters: number,
): Reservation {
  const input = estimateTokens(characters);
  const output = model?.max_output_tokens ?? DEFAULT_MAX_OUTPUT_TOKENS;
  return {
    tokens: input + output,
    cost_usd: costOf(dearest(model?.price), { input_tokens: input, output_tokens: output }),
  };
}

/** All of the input may have to be written to the cache. */
function dearest(price: Price | undefined): Price | undefined {
  return price && { ...price, input: Math.max(price.input, price.cache_write ?? 0) };
}

/** What came from a vendor's cache or went into it is part of `input_tokens`, at a price of its own. */
export function costOf(
  price: Price | undefined,
  usage: Pick<
    ChatInvokeUsage,
    'input_tokens' | 'output_tokens' | 'input_cached_tokens' | 'input_cache_creation_tokens'
  >,
): number {
  if (price === undefined) return 0;
  const cached = usage.input_cached_tokens ?? 0;
  const written = usage.input_cache_creation_tokens ?? 0;
  const fresh = Math.max(0, usage.input_tokens - cached - written);
  const input =
    fresh * price.input + cached * (price.cached_input ?? price.input) + written * (price.cache_write ?? price.input);
  return (input + usage.output_tokens * price.output) / 1_000_000;
}
