/** What a reply says it is. Only what can be read as text is taken; nothing is guessed from the bytes. */
import { ToolError } from '../../../kit/tool-error.js';
import { shown } from './check-url.js';

export type PageFormat = 'html' | 'text' | 'markdown' | 'json' | 'xml';

export interface MediaType {
  format: PageFormat;
  /** As the header has it. */
  charset?: string;
}

const FORMATS: Readonly<Record<string, PageFormat>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/json': 'json',
  'text/json': 'json',
  'application/xml': 'xml',
  'text/xml': 'xml',
};

export function checkMediaType(url: URL, header: string): MediaType {
  const [essence = '', ...parameters] = header.split(';').map((part) => part.trim());
  const name = essence.toLowerCase();
  const format = FORMATS[name] ?? suffixFormat(name);
  if (format === undefined) {
    const what = name === '' ? 'of no stated type' : `of the type ${name.slice(0, 80)}`;
    const readable = 'Only HTML, plain text, Markdown, JSON and XML can be read';
    throw new ToolError('unavailable', `${shown(url)} is ${what}. ${readable}; use another source.`);
  }
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"\s]+)"?$/i.exec(parameter)?.[1])
    .find((found) => found !== undefined);
  return { format, ...(charset === undefined ? {} : { charset }) };
}

/** Feeds, JSON-LD and the like; not images, though one of them is XML. */
function suffixFormat(name: string): PageFormat | undefined {
  if (!name.startsWith('application/')) return undefined;
  return name.endsWith('+json') ? 'json' : name.endsWith('+xml') ? 'xml' : undefined;
}
