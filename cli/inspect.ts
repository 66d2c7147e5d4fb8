/** `perdure inspect`: where a run stands, or its log. */
import type { DurableEvent } from '../contract/events.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import { dataDirFor, findConfig } from './config-file.js';
import { connect } from './connect.js';
import { describeRun } from './describe-run.js';
import { EXIT } from './exit-codes.js';
import { findObstacle } from './find-obstacle.js';
import { serverSettings } from './server-settings.js';
import type { ServerFlags } from './server-settings.js';
import { stylesFor } from './terminal.js';
import { printable } from './text-width.js';
import { gistOf } from './view/tell.js';

export interface InspectFlags extends ServerFlags {
  config?: string;
  dataDir?: string;
  json?: boolean;
  events?: boolean;
}

export async function inspect(runId: string, flags: InspectFlags): Promise<number> {
  const settings = serverSettings(flags, process.env);
  const cwd = process.cwd();
  const connected = await connect(settings, dataDirFor(cwd, findConfig(cwd, flags.config), flags.dataDir));
  try {
    if (flags.events) await printEvents(connected, runId, flags.json ?? false);
    else await printSnapshot(connected, runId, flags.json ?? false);
    return EXIT.success;
  } catch (error) {
    throw await withObstacle(error, connected, runId, flags.taskQueue);
  } finally {
    await connected.close();
  }
}

async function printSnapshot({ client }: ConnectedClient, runId: string, json: boolean): Promise<void> {
  const snapshot = await client.runs.get(runId);
  const text = json ? JSON.stringify(snapshot, null, 2) : describeRun(snapshot, stylesFor(process.stdout));
  process.stdout.write(`${text}\n`);
}

async function printEvents({ client }: ConnectedClient, runId: string, json: boolean): Promise<void> {
  let last: string | undefined;
  for await (const event of client.runs.stream(runId, { follow: false })) {
    process.stdout.write(`${json ? JSON.stringify(event) : eventLine(event as DurableEvent)}\n`);
    last = event.type;
  }
  if (last === 'run_completed') return;
  const { engine_end: end } = await client.runs.get(runId);
  if (end === undefined) return;
  process.stdout.write(`${json ? JSON.stringify(end) : `   –  ${'stream_ended'.padEnd(18)} ${gistOf(end)}`}\n`);
}

function eventLine(event: DurableEvent): string {
  const time = event.at.slice(11, 23);
  const where = event.tool_call_id ?? event.step_id ?? '';
  const { dim } = stylesFor(process.stdout);
  const head = `${String(event.seq).padStart(4)}  ${dim(time)}  ${event.type.padEnd(18)}`;
  return `${head} ${dim(where.padEnd(9))} ${printable(gistOf(event))}`.trimEnd();
}

/** A log is read by asking a worker: where none is there, that is the reason. */
async function withObstacle(
  error: unknown,
  { temporal }: ConnectedClient,
  runId: string,
  taskQueue?: string,
): Promise<unknown> {
  if (!isPerdureError(error) || error.code !== 'server_unreachable') return error;
  const obstacle = await findObstacle(temporal, runId, taskQueue);
  if (obstacle === undefined) return error;
  return new PerdureError('server_unreachable', `the run's log is read by asking a worker, and ${obstacle}`, {
    cause: error,
  });
}
