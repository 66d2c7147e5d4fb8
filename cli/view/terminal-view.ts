/** A run on a terminal: what is settled scrolls up, what may still change is redrawn at the end. */
import { duration } from '../format.js';
import type { Output } from '../own-output.js';
import { stylesFor } from '../terminal.js';
import { fit, printable, wrap } from '../text-width.js';
import { drawMarkdown } from '../markdown/draw-markdown.js';
import { createLiveMarkdown } from '../markdown/live-markdown.js';
import { drawItem } from './draw-item.js';
import { createPicture } from './picture.js';
import type { Item } from './picture.js';
import type { RunSummary, RunView } from './run-view.js';
import { createScreen } from './screen.js';
import { SPINNER_FRAME_MS, spinnerAt } from './spinner.js';

export interface ViewOptions {
  /** The model's texts are read as Markdown, and drawn. */
  markdown: boolean;
}

export function createTerminalView(terminal: Output, options: ViewOptions): RunView {
  const screen = createScreen(terminal);
  const styles = stylesFor(terminal);
  const picture = createPicture(Date.now);
  const began = Date.now();
  let lastKind: Item['kind'] | undefined;
  let pending: string[] = [''];
  let hint = 'Ctrl-C cancels';
  let prompt: readonly string[] | undefined;
  let ended = false;
  const frames = setInterval(draw, SPINNER_FRAME_MS);
  const liveMarkdown = createLiveMarkdown();

  return {
    event: (event) => picture.apply(event),
    note(text, tone = 'quiet') {
      const lines = wrap(printable(text), screen.columns() - 1);
      const loud = (line: string, index: number) => (index === 0 ? styles.red(line) : line);
      const styled = lines.map((line, index) => (tone === 'loud' ? loud(line, index) : styles.dim(line)));
      if (ended) return screen.update(styled, []);
      pending.push(...styled);
      draw();
    },
    hint(text) {
      hint = text;
      draw();
    },
    prompt(lines) {
      // A question that is taken back when the run ends may come after the last line.
      if (ended) return;
      prompt = lines;
      draw();
    },
    end(summary) {
      ended = true;
      clearInterval(frames);
      const printed = [...settled(), ...(summary === undefined ? [] : ending(summary))];
      screen.update(printed, []);
      screen.close();
    },
  };

  function canvas(lastLines?: number) {
    const spinner = spinnerAt(Date.now() - began);
    const width = screen.columns() - 1;
    const isLive = lastLines !== undefined;
    return {
      width,
      styles,
      now: Date.now(),
      spinner,
      ...(isLive ? { lastLines } : {}),
      ...(options.markdown ? { markdown: isLive ? liveMarkdown : drawMarkdown } : {}),
    };
  }

  function draw(): void {
    const printed = settled();
    const rows = screen.rows();
    let kind = lastKind;
    const lines = picture.live().flatMap((item) => {
      const drawn = spaced(kind, item, drawItem(item, canvas(rows)));
      if (drawn.length > 0) kind = item.kind;
      return drawn;
    });
    const { width, spinner } = canvas();
    const status = [picture.phase().replaceAll('_', ' '), duration(Date.now() - began), hint]
      .filter((part) => part !== '')
      .join(' · ');
    const asked = prompt?.flatMap((line) => wrap(printable(line), width)) ?? [];
    const shown = [
      ...lines,
      ...(kind === undefined ? [] : ['']),
      styles.dim(fit(`${spinner} ${status}`, width)),
      ...(asked.length === 0 ? [] : ['', ...asked.map(styles.yellow)]),
    ];
    screen.update(printed, shown.slice(-rows));
  }

  function settled(): string[] {
    const lines = pending;
    pending = [];
    for (const item of picture.takeSettled()) {
      const drawn = spaced(lastKind, item, drawItem(item, canvas()));
      if (drawn.length > 0) lastKind = item.kind;
      lines.push(...drawn);
    }
    return lines;
  }

  function ending({ tone, text, reason }: RunSummary): string[] {
    const icon = { good: styles.green('✓'), bad: styles.red('✗'), stopped: styles.yellow('■') }[tone];
    const colour = tone === 'bad' ? styles.red : styles.yellow;
    const why = reason === undefined ? [] : wrap(printable(reason), screen.columns() - 1).map(colour);
    const [first = '', ...rest] = wrap(text, screen.columns() - 3);
    const facts = [`${icon} ${styles.dim(first)}`, ...rest.map((line) => styles.dim(`  ${line}`))];
    return [...(lastKind === undefined ? [] : ['']), ...why, ...facts];
  }
}

/** Thinking, tools and text stand apart; tools stand together. */
function spaced(previous: Item['kind'] | undefined, item: Item, lines: string[]): string[] {
  if (lines.length === 0 || previous === undefined) return lines;
  const together = toolLike(previous) && toolLike(item.kind);
  return together ? lines : ['', ...lines];
}

const toolLike = (kind: Item['kind']): boolean => kind === 'tool' || kind === 'input' || kind === 'note';
