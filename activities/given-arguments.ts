/** What a tool is given, as the people read it who are asked for leave: after defaults, without keys that it never sees. */

/** As JSON; what JSON has no words for is shown as the model wrote it. */
export function givenArguments(parsed: unknown, text: string): string {
  return isJson(parsed) ? JSON.stringify(parsed) : writtenArguments(text);
}

/** The model's own words, without its spaces. */
function writtenArguments(text: string): string {
  return text.trim() === '' ? '{}' : JSON.stringify(JSON.parse(text));
}

function isJson(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return isPlain && Object.values(value).every(isJson);
}
