/** What is asked where a call waits for approval, in pages of which each fits a terminal whole. */
import { renderArguments } from '../contract/render-call.js';
import type { Pause } from './open-pauses.js';
import { stdout } from './own-output.js';
import { isLive } from './terminal.js';
import { breakWord } from './text-width.js';

export interface Room {
  rows: number;
  columns: number;
}

export function terminalRoom(): Room {
  return { rows: stdout.rows || 24, columns: stdout.columns || 80 };
}

/** Somebody sits here. */
export function canAsk(): boolean {
  return process.stdin.isTTY && isLive(stdout);
}

/** For who asks, the tool, the hint and what is typed, each of which may take two lines. */
const OTHER_LINES = 10;

/** The arguments, a page after another. The tool's name is below each of them: see `approvalQuestion`. */
export function approvalPages({ calls = [] }: Pause, { rows, columns }: Room): string[][] {
  const lines = calls.flatMap(({ arguments: args }) => breakWord(renderArguments(args), Math.max(10, columns - 2)));
  const size = Math.max(1, rows - OTHER_LINES);
  return Array.from({ length: Math.ceil(lines.length / size) }, (_, n) => lines.slice(n * size, (n + 1) * size));
}

export function approvalQuestion({ calls = [] }: Pause): string {
  return `may it call ${calls.map(({ name }) => name).join(', ')}`;
}
