/** `perdure run`: starts a run, shows it as it happens, and ends as it ended. */
import { text } from 'node:stream/consumers';
import type { PerdureClient } from '../client/index.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { EXIT } from './exit-codes.js';
import { followRun } from './follow-run.js';
import { listenForInterrupts } from './interrupts.js';
import { createNotices } from './notices.js';
import { openSession } from './run-session.js';
import type { RunSession } from './run-session.js';
import { serverSettings } from './server-settings.js';
import type { ServerFlags } from './server-settings.js';
import { isLive } from './terminal.js';
import { createJsonView } from './view/json-view.js';
import { createPlainView } from './view/plain-view.js';
import type { RunView } from './view/run-view.js';
import { createTerminalView } from './view/terminal-view.js';

export interface RunFlags extends ServerFlags {
  config?: string;
  dataDir?: string;
  json?: boolean;
  runId?: string;
  modelProfile?: string;
  maxSteps?: number;
  debug?: boolean;
}

/** Gives the exit code. */
export async function run(agentId: string, prompt: string, flags: RunFlags): Promise<number> {
  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const notices = createNotices();
  let say = notices.lasting;
  let report = notices.passing;
  installRuntimeLog((line) => say(line), flags.debug ? 'INFO' : 'ERROR');
  const settings = serverSettings(flags, process.env);
  const input = prompt === '-' ? await readInput() : prompt;

  const news = { lasting: notices.lasting, passing: (line: string) => report(line) };
  const session = await openSession(settings, flags, agentId, news).finally(notices.clear);
  try {
    const runId = await start(session.client, agentId, input, flags);
    const view = createView(flags.json ?? false);
    say = report = (line) => view.note(line);
    const { exitCode, detached } = await followRun({ session, settings, runId, view, interrupts });
    if (!detached) return exitCode;
    process.stderr.write(`${afterDetaching(session, settings.connection.address, settings.given, runId)}\n`);
    process.exit(exitCode);
  } finally {
    say = report = notices.lasting;
    // The answer is there: nobody should have to wait for the rest.
    interrupts.handle(leave, leave);
    await session.close();
  }
}

async function start(client: PerdureClient, agentId: string, input: string, flags: RunFlags): Promise<string> {
  const { runId, modelProfile, maxSteps } = flags;
  const { run_id } = await client.runs.start({
    agent_id: agentId,
    input,
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(modelProfile === undefined ? {} : { model_profile: modelProfile }),
    ...(maxSteps === undefined ? {} : { limits: { run: { max_steps: maxSteps } } }),
  });
  return run_id;
}

function createView(json: boolean): RunView {
  if (json) return createJsonView(process.stdout, process.stderr);
  return isLive(process.stdout) ? createTerminalView(process.stdout) : createPlainView(process.stdout, process.stderr);
}

async function readInput(): Promise<string> {
  const input = (await text(process.stdin)).trim();
  if (input === '')
    throw new CommandError('The prompt is "-", and nothing came from stdin. Pipe a text into the command.');
  return input;
}

function afterDetaching(session: RunSession, address: string, given: string | undefined, runId: string): string {
  if (session.embedded) return `Detached. The server was up for this run only: ${runId} ends with it.`;
  const where = given === '--address' ? ` --address ${address}` : '';
  return `Detached: ${runId} goes on without us. Look at it again with: ${commandName()} inspect ${runId}${where}`;
}
