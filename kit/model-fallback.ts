/** The chains of model profiles: which is asked when the vendor of another is down. */
import type { ModelProfile } from './define-config.js';
import type { Note } from './tool-spec.js';

type Models = ReadonlyMap<string, ModelProfile>;

/** The profiles after this one, each once: its own list, and after each of them what that one falls back on. */
export function fallbackChain(models: Models, name: string): string[] {
  const chain: string[] = [];
  const follow = (from: string): void => {
    for (const next of models.get(from)?.fallback ?? []) {
      if (next === name || chain.includes(next)) continue;
      chain.push(next);
      follow(next);
    }
  };
  follow(name);
  return chain;
}

export function checkFallbacks(models: Models, note: Note): void {
  for (const [name, { fallback = [] }] of models) {
    const field = `models.${name}.fallback`;
    if (!Array.isArray(fallback)) {
      note(field, 'is no list of model profiles');
      continue;
    }
    const unknown = fallback.filter((next) => !models.has(next));
    if (unknown.length > 0)
      note(field, `has no such model profile: ${unknown.join(', ')}; there are: ${[...models.keys()].join(', ')}`);
    const loop = loopFrom(models, name, [name]);
    if (loop !== undefined) note(field, `leads back to itself: ${loop.join(', ')}`);
  }
}

function loopFrom(models: Models, start: string, path: readonly string[]): string[] | undefined {
  const fallback = models.get(path.at(-1) ?? '')?.fallback;
  for (const next of Array.isArray(fallback) ? fallback : []) {
    if (next === start) return [...path, next];
    const loop = path.includes(next) ? undefined : loopFrom(models, start, [...path, next]);
    if (loop !== undefined) return loop;
  }
  return undefined;
}
