/** Showing a tree that changes: redrawn in place on a terminal, written again on a pipe. */
import type { WriteStream } from 'node:tty';
import { stylesFor } from '../terminal.js';
import { createScreen } from '../view/screen.js';
import { spinnerAt } from '../view/spinner.js';
import { drawTree } from './draw-tree.js';
import type { RunNode } from '../../client/read-tree.js';
import { treeRows } from './tree-rows.js';
import type { Detail } from './tree-rows.js';

export interface ShownTree {
  show(node: RunNode): void;
  /** The last picture stays. */
  end(): void;
}

const FRAME_MS = 100;
/** So that events which come together make one picture. */
const SETTLE_MS = 150;

export function createLiveTree(terminal: WriteStream, flags: string): ShownTree {
  const screen = createScreen(terminal);
  const styles = stylesFor(terminal);
  let node: RunNode | undefined;
  const frames = setInterval(draw, FRAME_MS);

  function linesOf(detail: Detail, spinner: string): string[] {
    if (node === undefined) return [];
    const rows = treeRows(node, { now: Date.now(), detail, flags });
    return drawTree(rows, { width: screen.columns() - 1, styles, spinner });
  }

  function draw(): void {
    const spinner = spinnerAt(Date.now());
    const room = screen.rows() - 2;
    const whole = linesOf('all', spinner);
    const lines = whole.length <= room ? whole : linesOf('open', spinner);
    const hidden = lines.length - room;
    const shown =
      hidden > 0
        ? [...lines.slice(0, room - 1), styles.dim(`… ${hidden + 1} more lines: perdure tree --no-follow shows all`)]
        : lines;
    screen.update([], [...shown, '', styles.dim('Ctrl-C stops watching; the run goes on')]);
  }

  return {
    show(next) {
      node = next;
    },
    end() {
      clearInterval(frames);
      screen.update(linesOf('all', '…'), []);
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
    end: flush,
  };
}
