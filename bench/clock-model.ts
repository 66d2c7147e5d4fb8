/** A model whose every word is the time at which it was made. */
import type { ModelProvider } from '../contract/model-provider.js';

export async function* ticks(words: number, pauseMs: number, signal?: AbortSignal): AsyncGenerator<string> {
  for (let n = 0; n < words && signal?.aborted !== true; n++) {
    yield `${performance.now().toFixed(3)} `;
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    else await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Asked to "say N words", it says so many; `begin` is waited for before the first. */
export function clockModel(
  pauseMs: (words: number) => number,
  begin: () => Promise<void> = () => Promise.resolve(),
): ModelProvider {
  return {
    name: 'clock',
    async *stream(request, signal) {
      const words = Number(/\d+/.exec(JSON.stringify(request.messages[1]?.content))?.[0]);
      await begin();
      for await (const delta of ticks(words, pauseMs(words), signal)) yield { type: 'text', delta };
      yield { type: 'finish', stop_reason: 'end_turn', usage: null };
    },
  };
}

/** How old each word of a text is. */
export function agesOf(text: string): number[] {
  const now = performance.now();
  return text
    .trim()
    .split(' ')
    .map((made) => now - Number(made));
}
