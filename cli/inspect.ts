/** `perdure inspect`: where a run stands, or its log. */
import type { StreamEvent } from '../client/index.js';
import type { ProfileName } from '../contract/profiles.js';
import { CommandError } from './command-error.js';
import { connectToRuns } from './connect-to-runs.js';
import { describeRun } from './describe-run.js';
import { EXIT } from './exit-codes.js';
import { readPauses } from './open-pauses.js';
import { repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunsClient } from './run-commands.js';
import { stylesFor } from './terminal.js';
import { printable } from './text-width.js';
import { gistOf } from './view/tell.js';

export interface InspectFlags extends FoundBy {
  json?: boolean;
  events?: boolean;
  profile?: string;
}

export function inspect(runId: string, flags: InspectFlags): Promise<number> {
  if (flags.profile !== undefined && !flags.events) throw new CommandError('--profile goes with --events.');
  return connectToRuns(runId, flags, async (connected) => {
    await (flags.events ? printEvents(connected, runId, flags) : printSnapshot(connected, runId, flags));
    return EXIT.success;
  });
}

async function printSnapshot({ client }: RunsClient, runId: string, flags: InspectFlags): Promise<void> {
  const snapshot = await client.runs.get(runId);
  const pauses = await readPauses(client.runs, snapshot);
  const text = flags.json
    ? JSON.stringify(snapshot, null, 2)
    : describeRun(snapshot, pauses, stylesFor(process.stdout), repeatFlags(flags));
  process.stdout.write(`${text}\n`);
}

async function printEvents({ client }: RunsClient, runId: string, flags: InspectFlags): Promise<void> {
  const { json = false, profile } = flags;
  const options = { follow: false, ...(profile === undefined ? {} : { profile: profile as ProfileName }) };
  let last: StreamEvent | undefined;
  for await (const event of client.runs.stream(runId, options)) {
    process.stdout.write(`${json ? JSON.stringify(event) : eventLine(event, runId)}\n`);
    last = event;
  }
  if (last?.type === 'run_completed' || last?.type === 'stream_ended') return;
  const { engine_end: end } = await client.runs.get(runId);
  if (end === undefined) return;
  process.stdout.write(`${json ? JSON.stringify(end) : eventLine(end, runId)}\n`);
}

/** Of the run itself or, where the profile shows them, of one below it: that one is named by what follows its id. */
function eventLine(event: StreamEvent, runId: string): string {
  if (!('seq' in event)) return `   –  ${event.type.padEnd(20)} ${gistOf(event)}`;
  const time = event.at.slice(11, 23);
  const where = event.tool_call_id ?? event.step_id ?? '';
  const below = event.run_id === runId ? '' : `${event.run_id.slice(runId.length)} `;
  const { dim } = stylesFor(process.stdout);
  const head = `${String(event.seq).padStart(4)}  ${dim(time)}  ${event.type.padEnd(20)}`;
  return `${head} ${dim(where.padEnd(9))} ${dim(below)}${printable(gistOf(event))}`.trimEnd();
}
