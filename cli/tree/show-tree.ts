/** Showing a tree that changes: redrawn in place on a terminal, written again on a pipe. */
import { commandName } from '../command-name.js';
import { stylesFor } from '../terminal.js';
import { printable, wrap } from '../text-width.js';
import { createScreen } from '../view/screen.js';
import { spinnerAt } from '../view/spinner.js';
import { drawTree } from './draw-tree.js';
import type { RunNode } from '../../client/read-tree.js';
import { treeRows } from './tree-rows.js';
import type { Detail } from './tree-rows.js';
import { stderr } from '../own-output.js';
import type { Output } from '../own-output.js';

export interface ShownTree {
  show(node: RunNode): void;
  /** About the command and not of the tree. */
  note(line: string): void;
  /** The last picture stays. */
  end(): void;
}

const FRAME_MS = 100;
/** So that events which come together make one picture. */
const SETTLE_MS = 150;

export function createLiveTree(terminal: Output, flags: string): ShownTree {
  const screen = createScreen(terminal);
  const styles = stylesFor(terminal);
  let node: RunNode | undefined;
  let notes: string[] = [];
  const frames = setInterval(draw, FRAME_MS);

  function linesOf(detail: Detail, spinner: string): string[] {
    if (node === undefined) return [];
    const rows = treeRows(node, { now: Date.now(), detail, flags });
    return drawTree(rows, { width: screen.columns() - 1, styles, spinner });
  }

  /** As many as there is room for, and how many there are besides. */
  function cut(lines: string[], room: number): string[] {
    const hint = (hidden: number) =>
      wrap(`… ${hidden} more lines: ${commandName()} tree --no-follow shows all`, screen.columns() - 1).map(styles.dim);
    const head = lines.slice(0, Math.max(0, room - hint(lines.length).length));
    return [...head, ...hint(lines.length - head.length)];
  }

  function draw(): void {
    const spinner = spinnerAt(Date.now());
    const room = screen.rows() - 2;
    const whole = linesOf('all', spinner);
    const lines = whole.length <= room ? whole : linesOf('open', spinner);
    const shown = lines.length <= room ? lines : cut(lines, room);
    const said = notes;
    notes = [];
    screen.update(said, [...shown, '', styles.dim('Ctrl-C stops watching; the run goes on')]);
  }

  return {
    show(next) {
      node = next;
    },
    note(line) {
      notes.push(...wrap(printable(line), screen.columns() - 1).map(styles.dim));
    },
    end() {
      clearInterval(frames);
      screen.update([...notes, ...linesOf('all', '…')], []);
      screen.close();
    },
  };
}

export function createTreePrinter(print: (node: RunNode) => void): ShownTree {
  let pending: RunNode | undefined;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (pending !== undefined) print(pending);
    pending = undefined;
  };
  return {
    show(node) {
      pending = node;
      timer ??= setTimeout(flush, SETTLE_MS);
    },
    note: (line) => void stderr.write(`${line}\n`),
    end: flush,
  };
}
