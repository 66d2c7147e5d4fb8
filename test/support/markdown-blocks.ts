/** The code blocks of a document, in order. */

export interface Block {
  readonly document: string;
  /** Line of the opening fence, counted from 1. */
  readonly line: number;
  /** What stands behind the fence, such as `ts`. */
  readonly language: string;
  readonly code: string;
  /** The last line of text before it. */
  readonly before: string;
}

export function blocksOf(document: string, text: string): Block[] {
  const found: Block[] = [];
  let open: { line: number; fence: string; language: string; code: string[]; before: string } | undefined;
  let before = '';
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*(`{3,})(.*)$/.exec(line);
    if (open && fence?.[1] === open.fence && !fence[2]?.trim()) {
      found.push({ document, ...open, code: `${open.code.join('\n')}\n` });
      open = undefined;
    } else if (open) {
      open.code.push(line);
    } else if (fence?.[1]) {
      const [language = ''] = (fence[2] ?? '').trim().split(/\s/);
      open = { line: index + 1, fence: fence[1], language, code: [], before };
    } else if (line.trim() !== '') {
      before = line;
    }
  }
  return found;
}

/** Those that hold TypeScript. */
export function isTypeScript({ language }: Block): boolean {
  return language === 'ts' || language === 'typescript';
}
