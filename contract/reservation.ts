/** What a model call may use at most, by estimate, and what it costs. No zod: workflows import it. */
import type { Price } from './agent-spec.js';

export interface Reservation {
  tokens: number;
  cost_usd: number;
}

export const DEFAULT_MAX_OUTPUT_TOKENS = 4_096;
const CHARACTERS_PER_TOKEN = 4;

export function reservationOf(
  model: { max_output_tokens?: number | undefined; price?: Price | undefined } | undefined,
  characters: number,
): Reservation {
  const input = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  const output = model?.max_output_tokens ?? DEFAULT_MAX_OUTPUT_TOKENS;
  return { tokens: input + output, cost_usd: costOf(model?.price, input, output) };
}

export function costOf(price: Price | undefined, input: number, output: number, cached = 0): number {
  if (price === undefined) return 0;
  const fresh = Math.max(0, input - cached);
  return (fresh * price.input + cached * (price.cached_input ?? price.input) + output * price.output) / 1_000_000;
}
