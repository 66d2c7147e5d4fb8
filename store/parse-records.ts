/** Records from a file or a table: checked, and never quoted in what is said of those that are broken. */
import { PerdureError } from '../contract/errors.js';

interface Issue {
  path: PropertyKey[];
  message: string;
}
interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { issues: Issue[] } };
}

/** `what` names the records and where they are. */
export function parseRecords<T>(schema: Schema<T>, text: string, what: string): T {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // The parser's own message would quote the text.
    throw unreadable(what, 'it is no JSON');
  }
  return checkRecords(schema, content, what);
}

export function checkRecords<T>(schema: Schema<T>, content: unknown, what: string): T {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw unreadable(what, parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
}

function unreadable(what: string, why: string): PerdureError {
  return new PerdureError('database_unusable', `${what} cannot be read: ${why}`);
}
