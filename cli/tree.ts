/** `perdure tree`: the run and all below it, redrawn on a terminal until the root has ended. */
import { readRuns } from './connect-to-runs.js';
import { jsonText } from './control-sequences.js';
import { EXIT } from './exit-codes.js';
import { listenForInterrupts } from './interrupts.js';
import { repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunsClient } from './run-commands.js';
import { isLive, stylesFor } from './terminal.js';
import { drawTree } from './tree/draw-tree.js';
import { createLiveTree, createTreePrinter } from './tree/show-tree.js';
import { readTree } from '../client/read-tree.js';
import type { RunNode } from '../client/read-tree.js';
import { watchTree } from './tree/watch-tree.js';
import { treeRows } from './tree/tree-rows.js';
import { watchForSilence } from './watch-for-silence.js';
import { stdout } from './own-output.js';

/** Nobody wraps lines there, so only what is very long is cut. */
const PIPE_WIDTH = 400;

export interface TreeFlags extends FoundBy {
  json?: boolean;
  follow?: boolean;
}

export function tree(runId: string, flags: TreeFlags): Promise<number> {
  const live = isLive(stdout) && flags.json !== true;
  return readRuns(runId, flags, async (connected) => {
    const { runs } = connected.client;
    const first = await readTree(runs.get, runId);
    const isOver = first.snapshot?.status !== 'running' || first.snapshot.engine_end !== undefined;
    if (isOver || !(flags.follow ?? live)) {
      stdout.write(`${textOf(first, flags)}\n`);
      return EXIT.success;
    }
    return follow(connected, first, flags, live);
  });
}

async function follow(
  { client, temporal }: RunsClient,
  first: RunNode,
  flags: TreeFlags,
  live: boolean,
): Promise<number> {
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  listenForInterrupts().handle(leave, leave);
  process.stdout.on('error', leave);
  const shown = live
    ? createLiveTree(stdout, repeatFlags(flags))
    : createTreePrinter((node) => void stdout.write(`${textOf(node, flags)}\n${flags.json ? '' : '\n'}`));
  shown.show(first);
  const { run_id: runId } = first;
  const silence =
    temporal === undefined
      ? undefined
      : watchForSilence({ client: temporal, runId, taskQueue: flags.taskQueue, say: (line) => shown.note(line) });
  const watch = watchTree(client.runs, runId, {
    signal: leaving.signal,
    heard: () => silence?.heard(),
    // Until the log is read up to where the first picture was, that one is the better.
    changed: () => {
      const node = watch.tree();
      if ((node?.snapshot?.tail ?? 0) >= (first.snapshot?.tail ?? 0) && node !== undefined) shown.show(node);
    },
  });
  try {
    await watch.ended;
  } finally {
    silence?.stop();
    shown.end();
  }
  return leaving.signal.aborted ? EXIT.interrupted : EXIT.success;
}

function textOf(node: RunNode, flags: TreeFlags): string {
  if (flags.json) return jsonText(node, flags.follow ? undefined : 2);
  const rows = treeRows(node, { now: Date.now(), detail: 'all', flags: repeatFlags(flags) });
  const width = isLive(stdout) ? stdout.columns - 1 : PIPE_WIDTH;
  return drawTree(rows, { width, styles: stylesFor(stdout), spinner: '…' }).join('\n');
}
