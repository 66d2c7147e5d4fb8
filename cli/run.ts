/** `perdure run`: starts a run, shows it as it happens, and ends as it ended. */
import { text } from 'node:stream/consumers';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { EXIT } from './exit-codes.js';
import { followRun } from './follow-run.js';
import { listenForInterrupts } from './interrupts.js';
import { readKeyboard } from './line-reader.js';
import { createNotices } from './notices.js';
import { readClientTools } from './read-client-tools.js';
import { repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import { openSession } from './run-session.js';
import type { RunSession } from './run-session.js';
import { serverSettings } from './server-settings.js';
import { isLive } from './terminal.js';
import { createJsonView } from './view/json-view.js';
import { createPlainView } from './view/plain-view.js';
import type { RunView } from './view/run-view.js';
import { createTerminalView } from './view/terminal-view.js';

export interface RunFlags extends FoundBy {
  json?: boolean;
  runId?: string;
  modelProfile?: string;
  clientTools?: string;
  maxSteps?: number;
  saveFiles?: string;
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
  const options = requestOptions(flags);
  const input = prompt === '-' ? await readInput() : prompt;

  const news = { lasting: notices.lasting, passing: (line: string) => report(line) };
  const session = await openSession(settings, flags, agentId, news).finally(notices.clear);
  try {
    const { run_id: runId } = await session.client.runs.start({ agent_id: agentId, input, ...options });
    const view = createView(flags.json ?? false);
    say = report = (line) => view.note(line);
    const interactive = !flags.json && prompt !== '-' && isLive(process.stdout) && process.stdin.isTTY;
    const found = repeatFlags(session.embedded ? { ...flags, address: session.address } : flags);
    const reader = interactive ? readKeyboard() : undefined;
    const { exitCode, detached } = await followRun({
      session,
      settings,
      runId,
      view,
      interrupts,
      reader,
      saveFiles: flags.saveFiles,
      flags: found,
    });
    if (!detached) return exitCode;
    process.stderr.write(`${afterDetaching(session, runId, flags)}\n`);
    process.exit(exitCode);
  } finally {
    say = report = notices.lasting;
    // The answer is there: nobody should have to wait for the rest.
    interrupts.handle(leave, leave);
    await session.close();
  }
}

function requestOptions({ runId, modelProfile, clientTools, maxSteps }: RunFlags) {
  return {
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(modelProfile === undefined ? {} : { model_profile: modelProfile }),
    ...(clientTools === undefined ? {} : { client_tools: readClientTools(clientTools) }),
    ...(maxSteps === undefined ? {} : { limits: { run: { max_steps: maxSteps } } }),
  };
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

function afterDetaching(session: RunSession, runId: string, flags: RunFlags): string {
  if (session.embedded) return `Detached. The server was up for this run only: ${runId} ends with it.`;
  return `Detached: ${runId} goes on without us. Look at it again with: ${commandName()} inspect ${runId}${repeatFlags(flags)}`;
}
