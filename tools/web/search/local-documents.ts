/**
 * A folder of documents as a search engine: HTML, Markdown and plain text, each with a URL below `base_url`. The pages
 * are read from the folder too, so nothing needs a network. The index is made at the first question and kept: a worker
 * sees the folder as it was then.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import MiniSearch from 'minisearch';
import { PerdureError } from '../../../contract/errors.js';
import type { FetchedPage } from '../fetch/fetch-page.js';
import { pageKey } from '../fetch/check-url.js';
import type { PageFormat } from '../fetch/media-type.js';
import { decodeText } from '../read/decode-text.js';
import { readHtml } from '../read/read-html.js';
import { excerptOf } from '../read/excerpt.js';
import type { SearchEngine } from './search-engine.js';

const FORMATS: Readonly<Record<string, PageFormat>> = {
  '.html': 'html',
  '.htm': 'html',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.txt': 'text',
};
const MOST_DOCUMENTS = 5_000;
const MOST_BYTES = 2 * 1024 * 1024;

export interface LocalDocumentsOptions {
  folder: string;
  /** What the documents' URLs begin with, like "https://handbook.example/". They need not be on any network. */
  base_url: string;
}

interface Document {
  url: string;
  path: string;
  format: PageFormat;
  title: string;
  text: string;
}

interface Library {
  documents: ReadonlyMap<string, Document>;
  index: MiniSearch<Document>;
}

export function localDocuments({ folder, base_url }: LocalDocumentsOptions): SearchEngine {
  if (!URL.canParse(base_url) || !/^https?:/.test(base_url))
    throw new PerdureError('invalid_config', `The local documents' base_url is "${base_url}", which is no http URL.`);
  const base = pageKey(base_url.endsWith('/') ? base_url : `${base_url}/`);
  let library: Promise<Library> | undefined;
  const load = () =>
    (library ??= openLibrary(folder, base).catch((error: unknown) => {
      // So that the next question tries again.
      library = undefined;
      throw error;
    }));
  return {
    name: 'local documents',
    async search(query, { count }) {
      const { documents, index } = await load();
      return index
        .search(query)
        .slice(0, count)
        .flatMap(({ id }) => documents.get(String(id)) ?? [])
        .map(({ url, title, text }) => ({ url, title, snippet: excerptOf(text, query) }));
    },
    async open(url) {
      const key = pageKey(url);
      if (!key.startsWith(base)) return undefined;
      const document = (await load()).documents.get(key);
      if (document === undefined) return undefined;
      const bytes = await readFile(document.path);
      return { url: document.url, format: document.format, bytes, no_store: false } satisfies FetchedPage;
    },
  };
}

async function openLibrary(folder: string, base: string): Promise<Library> {
  const documents = new Map<string, Document>();
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  // By name: the same folder makes the same index everywhere. Links are not followed: they may lead out of the folder.
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of files.toSorted()) {
    const format = FORMATS[extname(path).toLowerCase()];
    if (format === undefined || (await stat(path)).size > MOST_BYTES) continue;
    if (documents.size === MOST_DOCUMENTS)
      throw new PerdureError('invalid_config', `${folder} has more than ${MOST_DOCUMENTS} documents.`);
    const name = path.slice(join(folder, sep).length).split(sep).map(encodeURIComponent).join('/');
    const url = pageKey(new URL(name, base).href);
    documents.set(url, {
      url,
      path,
      format,
      ...describe(decodeText({ bytes: await readFile(path), format }), format, url),
    });
  }
  const index = new MiniSearch<Document>({
    idField: 'url',
    fields: ['title', 'text'],
    searchOptions: { boost: { title: 2 }, prefix: (term) => term.length > 3, fuzzy: 0.15 },
  });
  index.addAll([...documents.values()]);
  return { documents, index };
}

function describe(text: string, format: PageFormat, url: string): { title: string; text: string } {
  const name = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
  if (format === 'html') {
    const page = readHtml(text, url);
    return { title: page.title || name, text: page.text };
  }
  const heading = format === 'markdown' ? /^#\s+(.+)$/m.exec(text)?.[1]?.trim() : undefined;
  return { title: heading ?? name, text };
}
