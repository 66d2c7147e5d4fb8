/** `perdure inspect`: where a run stands, or its log. */
import type { StreamEvent } from '../client/index.js';
import { isShipped, resolveProfile } from '../contract/profiles.js';
import type { ProfileChoice } from '../contract/profiles.js';
import { findApplication } from './application.js';
import { contentText, readCalls } from './call-outputs.js';
import { CommandError } from './command-error.js';
import { readRuns } from './connect-to-runs.js';
import { jsonText } from './control-sequences.js';
import { describeCall } from './describe-call.js';
import { describeRun } from './describe-run.js';
import { EXIT } from './exit-codes.js';
import { readPauses } from './open-pauses.js';
import { repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunsClient } from './run-commands.js';
import { isLive, stylesFor } from './terminal.js';
import { printable } from './text-width.js';
import { gistOf } from './view/tell.js';
import { stdout } from './own-output.js';
import type { Output } from './own-output.js';

export interface InspectFlags extends FoundBy {
  json?: boolean;
  events?: boolean;
  profile?: string;
  outputs?: boolean;
  tool?: string;
  markdown?: boolean;
}

export function inspect(runId: string, flags: InspectFlags): Promise<number> {
  if (flags.profile !== undefined && !flags.events) throw new CommandError('--profile goes with --events.');
  if (flags.events && (flags.outputs || flags.tool !== undefined))
    throw new CommandError('--outputs and --tool go without --events; with --json the log has all outputs.');
  if (flags.json && flags.outputs)
    throw new CommandError('--outputs is for people: --tool CALL --json and --events --json have them as JSON.');
  return readRuns(runId, flags, async (connected) => {
    if (flags.tool !== undefined) await printCall(connected, runId, flags.tool, flags);
    else await (flags.events ? printEvents(connected, runId, flags) : printSnapshot(connected, runId, flags));
    return EXIT.success;
  });
}

/** Nobody reads a pipe on a screen, so nothing is broken there. */
function widthOf(output: Output): number {
  return isLive(output) ? (output.columns || 80) - 1 : Number.POSITIVE_INFINITY;
}

async function printSnapshot({ client }: RunsClient, runId: string, flags: InspectFlags): Promise<void> {
  const snapshot = await client.runs.get(runId);
  const pauses = await readPauses(client.runs, snapshot);
  const outputs = flags.outputs ? { outputs: await readCalls(client.runs, runId) } : {};
  const markdown = isLive(stdout) && flags.markdown !== false;
  const paper = { styles: stylesFor(stdout), width: widthOf(stdout), flags: repeatFlags(flags) };
  const text = flags.json ? jsonText(snapshot, 2) : describeRun({ snapshot, pauses, ...outputs, ...paper, markdown });
  stdout.write(`${text}\n`);
}

async function printCall(connected: RunsClient, runId: string, id: string, { json }: InspectFlags): Promise<void> {
  const calls = await readCalls(connected.client.runs, runId);
  const call = calls.get(id);
  if (call === undefined) {
    const known = [...calls.keys()].join(', ');
    const there = known === '' ? 'it has made none yet' : `it has made ${known}`;
    throw new CommandError(`${runId} has made no call ${id}: ${there}. Calls of its children are in their own runs.`);
  }
  const { result } = call;
  const artefact = result?.output_ref?.id;
  const whole =
    artefact === undefined ? undefined : Buffer.from(await connected.readArtefact(runId, artefact)).toString();
  const text = json
    ? jsonText({ ...call, ...(result === undefined ? {} : { output: whole ?? contentText(result.content) }) })
    : describeCall(call, whole, widthOf(stdout), stylesFor(stdout));
  stdout.write(`${text}\n`);
}

/** A gateway knows its own; else the configuration is loaded where it must have the profile. */
async function profileOf({ temporal }: RunsClient, name: string, flags: InspectFlags): Promise<ProfileChoice> {
  if (temporal === undefined || isShipped(name)) return name;
  return resolveProfile(name, (await findApplication(flags).registry()).profiles);
}

async function printEvents(connected: RunsClient, runId: string, flags: InspectFlags): Promise<void> {
  const { client } = connected;
  const { json = false, profile } = flags;
  const shown = profile === undefined ? {} : { profile: await profileOf(connected, profile, flags) };
  const options = { follow: false, ...shown };
  let last: StreamEvent | undefined;
  for await (const event of client.runs.stream(runId, options)) {
    // The log: what a stream adds to it for those who print texts as they come is not in it.
    if ('live_id' in event && !('seq' in event)) continue;
    stdout.write(`${json ? jsonText(event) : eventLine(event, runId)}\n`);
    last = event;
  }
  if (last?.type === 'run_completed' || last?.type === 'stream_ended') return;
  const { engine_end: end } = await client.runs.get(runId);
  if (end === undefined) return;
  stdout.write(`${json ? jsonText(end) : eventLine(end, runId)}\n`);
}

/** Of the run itself or, where the profile shows them, of one below it: that one is named by what follows its id. */
function eventLine(event: StreamEvent, runId: string): string {
  if (!('seq' in event)) return `   –  ${event.type.padEnd(20)} ${printable(gistOf(event))}`;
  const time = event.at.slice(11, 23);
  const where = event.tool_call_id ?? event.step_id ?? '';
  const below = event.run_id === runId ? '' : `${event.run_id.slice(runId.length)} `;
  const { dim } = stylesFor(stdout);
  const head = `${String(event.seq).padStart(4)}  ${dim(time)}  ${event.type.padEnd(20)}`;
  return `${head} ${dim(where.padEnd(9))} ${dim(below)}${printable(gistOf(event))}`.trimEnd();
}
