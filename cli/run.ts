/** `perdure run`: starts a run, shows it as it happens, and ends as it ended. */
import { text } from 'node:stream/consumers';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { catchPrints } from './catch-prints.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { EXIT } from './exit-codes.js';
import { followRun } from './follow-run.js';
import { listenForInterrupts } from './interrupts.js';
import { readKeyboard } from './keyboard/line-reader.js';
import { createNews } from './news.js';
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
import { stderr, stdout } from './own-output.js';

export interface RunFlags extends FoundBy {
  json?: boolean;
  runId?: string;
  modelProfile?: string;
  clientTools?: string;
  maxSteps?: number;
  saveFiles?: string;
  markdown?: boolean;
  debug?: boolean;
}

/** Gives the exit code. */
export async function run(agentId: string, prompt: string, flags: RunFlags): Promise<number> {
  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const news = createNews();
  const prints = catchPrints(news.print);
  installRuntimeLog(news.lasting, { level: flags.debug ? 'INFO' : 'ERROR' });
  const settings = serverSettings(flags, process.env);
  const options = requestOptions(flags);
  const input = prompt === '-' ? await readInput() : prompt;

  const session = await openSession(settings, flags, agentId, news, prints.around).finally(news.clear);
  try {
    const { run_id: runId } = await session.client.runs.start({ agent_id: agentId, input, ...options });
    const view = createView(flags);
    news.on(view);
    const interactive = !flags.json && prompt !== '-' && isLive(stdout) && process.stdin.isTTY;
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
    stderr.write(`${afterDetaching(session, runId, flags)}\n`);
    process.exit(exitCode);
  } finally {
    news.on(undefined);
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

function createView({ json = false, markdown = true }: RunFlags): RunView {
  if (json) return createJsonView(stdout, stderr);
  return isLive(stdout) ? createTerminalView(stdout, { markdown }) : createPlainView(stdout, stderr);
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
