/** A key that is twice in one object of a JSON text: parsers take one of the two, and not all of them the same. No zod here. */

/** A text with its colon, if it is a key; or where an object or a list begins or ends. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g;

/** The first one; undefined where there is none. The text must be JSON. */
export function duplicateKey(json: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (const [token, colon] of json.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (colon !== undefined) {
      // Two spellings of one key are one key.
      const key = JSON.parse(token.slice(0, -colon.length)) as string;
      const keys = open.at(-1);
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
  }
  return undefined;
}
