/**
 * A document as readable text: paragraphs with a blank line between, headings with #, lists, quotes, tables with
 * bars, code as it stands, links as [text](absolute URL). It walks with a stack of its own: how deep a foreign page
 * is nested must not matter.
 */
import { TEXT, isElement } from './dom-nodes.js';
import type { DomElement, DomNode } from './dom-nodes.js';
import { tableText } from './table-text.js';

const SKIPPED = new Set(
  'SCRIPT STYLE NOSCRIPT TEMPLATE HEAD TITLE IFRAME OBJECT EMBED SVG CANVAS VIDEO AUDIO BUTTON SELECT INPUT TEXTAREA'.split(
    ' ',
  ),
);
const BLOCKS = new Set(
  (
    'ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY DD DETAILS DIALOG DIV DL DT FIELDSET FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 ' +
    'H4 H5 H6 HEADER HGROUP HR HTML LI MAIN MENU NAV OL P PRE SECTION SUMMARY TABLE UL'
  ).split(' '),
);

interface Frame {
  node: DomNode;
  /** Taken once: the library makes a new list each time it is asked. */
  children: ArrayLike<DomNode>;
  /** The next child; the element ends when there is none. */
  at: number;
  link?: string;
}

export function domToText(root: DomNode, base: string): string {
  const paragraphs: string[] = [];
  let line = '';
  let prefix = '';
  const flush = () => {
    const text = line.replaceAll(/[ \t\r\n\f\u00a0]+/g, ' ').trim();
    if (text !== '') paragraphs.push(prefix + text);
    if (text !== '') prefix = prefix.startsWith('- ') ? '  ' : prefix.startsWith('#') ? '' : prefix;
    line = '';
  };
  const stack: Frame[] = [{ node: root, children: root.childNodes, at: 0 }];
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const child = frame.children[frame.at];
    frame.at += 1;
    if (child === undefined) {
      stack.pop();
      if (frame.link !== undefined) line += `](${frame.link})`;
      if (BLOCKS.has(name(frame.node))) {
        flush();
        prefix = '';
      }
    } else if (child.nodeType === TEXT) line += child.textContent ?? '';
    else if (isElement(child) && !isHidden(child)) enter(child);
  }
  flush();
  return joined(paragraphs);

  function enter(element: DomElement): void {
    const tag = name(element);
    if (BLOCKS.has(tag)) flush();
    if (tag === 'BR') line += ' ';
    else if (tag === 'PRE' || tag === 'TABLE') {
      const text = tag === 'PRE' ? fenced(element.textContent ?? '') : tableText(element);
      if (text !== '') paragraphs.push(text);
    } else if (tag === 'IMG') {
      const alt = element.getAttribute('alt')?.trim() ?? '';
      if (alt !== '') line += ` [image: ${alt}] `;
    } else {
      if (/^H[1-6]$/.test(tag)) prefix = `${'#'.repeat(Number(tag[1]))} `;
      else if (tag === 'LI') prefix = '- ';
      else if (tag === 'BLOCKQUOTE') prefix = '> ';
      const link = tag === 'A' ? linkOf(element, base) : undefined;
      if (link !== undefined) line += '[';
      stack.push({ node: element, children: element.childNodes, at: 0, ...(link === undefined ? {} : { link }) });
    }
  }
}

/** List items stand together, everything else apart. */
function joined(paragraphs: readonly string[]): string {
  return paragraphs
    .map((text, index) => {
      const before = paragraphs[index - 1];
      if (before === undefined) return text;
      const inList = /^(- | {2})/;
      return `${inList.test(text) && inList.test(before) ? '\n' : '\n\n'}${text}`;
    })
    .join('');
}

function fenced(code: string): string {
  return code.trim() === '' ? '' : `\`\`\`\n${code.replace(/^\n+|\s+$/g, '')}\n\`\`\``;
}

/** What a reader of the page would not see, a model should not either. */
function isHidden(element: DomElement): boolean {
  if (SKIPPED.has(name(element))) return true;
  if (element.getAttribute('hidden') !== null || element.getAttribute('aria-hidden') === 'true') return true;
  const style = element.getAttribute('style') ?? '';
  return /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:[;\s]|$)/i.test(style);
}

function linkOf(element: DomElement, base: string): string | undefined {
  const href = element.getAttribute('href')?.trim() ?? '';
  if (href === '' || href.startsWith('#') || (element.textContent ?? '').trim() === '') return undefined;
  if (!URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
}

function name(node: DomNode): string {
  return node.nodeName.toUpperCase();
}
