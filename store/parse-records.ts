/** Records from a file: checked, and never quoted in what is said of a file that is broken. */
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
  const problem = (why: string) => new PerdureError('invalid_config', `${what} cannot be read: ${why}`);
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // The parser's own message would quote the file.
    throw problem('the file is no JSON');
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw problem(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
}
