/** What stands inside a paragraph: emphasis, code, links. */
import type { Token, Tokens } from 'marked';
import type { Styles } from '../terminal.js';
import { printable } from '../text-width.js';
import type { Span } from './spans.js';

type Style = keyof Styles;

export function inlineSpans(tokens: readonly Token[], styles: readonly Style[] = []): Span[] {
  return tokens.flatMap((token) => spansOf(token, styles));
}

function spansOf(token: Token, styles: readonly Style[]): Span[] {
  switch (token.type) {
    case 'strong':
      return inlineSpans(token.tokens ?? [], [...styles, 'bold']);
    case 'em':
      return inlineSpans(token.tokens ?? [], [...styles, 'italic']);
    case 'del':
      return inlineSpans(token.tokens ?? [], [...styles, 'strike']);
    case 'codespan':
      return span((token as Tokens.Codespan).text, [...styles, 'cyan']);
    case 'br':
      return span('\n', styles);
    case 'link':
      return linkSpans(token as Tokens.Link, styles);
    case 'image':
      return [...span(`[image: ${(token as Tokens.Image).text}]`, styles), ...address((token as Tokens.Image).href)];
    case 'html':
      return span(/^<br\s*\/?>$/i.test(token.raw) ? '\n' : token.raw, styles);
    case 'text':
      if (token.tokens !== undefined) return inlineSpans(token.tokens, styles);
      return span(withoutEntities((token as Tokens.Text).text), styles);
    case 'escape':
      return span((token as Tokens.Escape).text, styles);
    default:
      return span(token.raw, styles);
  }
}

/** The parser makes characters of entities: also of those that stand for control characters. */
function span(text: string, styles: readonly Style[]): Span[] {
  return [{ text: printable(text), styles }];
}

function linkSpans({ href, tokens }: Tokens.Link, styles: readonly Style[]): Span[] {
  const shown = inlineSpans(tokens, [...styles, 'underline']);
  const text = shown.map((span) => span.text).join('');
  // An address that stands for itself is said once.
  return href === text || href === `mailto:${text}` || href === `http://${text}` ? shown : [...shown, ...address(href)];
}

function address(href: string): Span[] {
  return span(` (${href})`, ['dim']);
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' };

/** Those that the parser leaves. */
function withoutEntities(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|nbsp);/g, (_entity, name: string) => ENTITIES[name] ?? '');
}
