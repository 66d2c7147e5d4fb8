/** The article of a page by Readability, or all that can be seen of a page that is none. */
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { isElement } from './dom-nodes.js';
import type { DomElement, DomNode } from './dom-nodes.js';
import { domToText } from './dom-to-text.js';

export interface ReadablePage {
  title: string;
  byline?: string;
  text: string;
}

/** Beyond these Readability takes minutes: its work grows with the square of a page's depth. */
const MAX_DEPTH = 150;
const MAX_ELEMENTS = 30_000;
/** An article that is so much less of the page's text was not its point: an index, a list of links, a form. */
const LEAST_SHARE = 0.25;
const MIN_ARTICLE_CHARS = 250;

export function readHtml(html: string, url: string): ReadablePage {
  // A fragment has no <html>, and Readability needs one.
  const source = /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`;
  const document = documentOf(source);
  const base = baseOf(document, url);
  const title = (document.querySelector('title')?.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
  const body = document.querySelector('body') ?? document;
  const whole = domToText(body, base);
  const article = isReasonable(document) ? articleOf(source, base) : undefined;
  if (article === undefined || article.text.length < Math.max(MIN_ARTICLE_CHARS, whole.length * LEAST_SHARE))
    return { title, text: whole };
  return { ...article, title: article.title || title };
}

/** It takes the document apart, so it gets one of its own. */
function articleOf(html: string, base: string): ReadablePage | undefined {
  const document = documentOf(html) as unknown as ConstructorParameters<typeof Readability>[0];
  const article = new Readability<DomElement>(document, {
    maxElemsToParse: MAX_ELEMENTS,
    serializer: (node) => node as unknown as DomElement,
  }).parse();
  if (article?.content === null || article?.content === undefined) return undefined;
  const text = domToText(article.content, base);
  const byline = article.byline?.replaceAll(/\s+/g, ' ').trim() ?? '';
  return { title: article.title?.trim() ?? '', text, ...(byline === '' ? {} : { byline }) };
}

function documentOf(html: string): DomElement {
  return (parseHTML(html) as unknown as { document: DomElement }).document;
}

function baseOf(document: DomElement, url: string): string {
  const href = document.querySelector('base')?.getAttribute('href') ?? '';
  return href !== '' && URL.canParse(href, url) ? new URL(href, url).href : url;
}

function isReasonable(document: DomNode): boolean {
  let elements = 0;
  const open: { node: DomNode; depth: number }[] = [{ node: document, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    elements += 1;
    if (next.depth > MAX_DEPTH || elements > MAX_ELEMENTS) return false;
    for (const child of Array.from(next.node.childNodes))
      if (isElement(child)) open.push({ node: child, depth: next.depth + 1 });
  }
  return true;
}
