#!/usr/bin/env node
/** The `perdure` command. Each subcommand is loaded when it is called, so that help is quick. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { RunPhase } from '../contract/run.js';
import { EXIT_CODES_HELP } from './exit-codes.js';
import { isDebug, setDebug } from './debug.js';
import { loadEnvFile } from './env-file.js';
import { createNotices } from './notices.js';
import { written } from './own-output.js';
import { reportError } from './report-error.js';
import { withGatewayFlags } from './gateway-address.js';
import { SERVER_HELP, withServerFlags } from './server-settings.js';
import { GATEWAY_HELP, KEYS_FILE_HELP, withAuthFlags, withCorsFlag } from './gateway-flags.js';
import { commandName } from './command-name.js';
import { ownVersion } from './version.js';
import type { AnswerFlags } from './answer.js';
import type { CancelFlags } from './cancel.js';
import type { ChatFlags } from './chat.js';
import type { DevFlags } from './dev.js';
import type { GatewayFlags } from './gateway.js';
import type { InspectFlags } from './inspect.js';
import type { CreateKeyFlags, KeysFlags } from './keys.js';
import type { LsFlags } from './ls.js';
import type { RunFlags } from './run.js';
import type { ThreadsFlags } from './threads.js';
import type { TreeFlags } from './tree.js';
import type { WorkerFlags } from './worker.js';

let exitCode = 0;
const program = new Command(commandName())
  .description('AI agents as durable Temporal workflows.')
  .version(ownVersion())
  .option('--debug', 'stacks of errors, and more of the log (env PERDURE_DEBUG)')
  .addHelpText('after', EXIT_CODES_HELP)
  .exitOverride()
  .hook('preAction', (_program, command) => {
    if (program.opts<{ debug?: boolean }>().debug === true) setDebug();
    const read = loadEnvFile(process.cwd(), command.opts<{ config?: string }>().config, process.env);
    if (read !== undefined) createNotices().lasting(read);
    // AWS's package would say, in every command with a bucket, which Node its later versions want. Ours takes this one.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  });

withCorsFlag(
  subcommand('dev', 'start a Temporal server, a worker and the gateway here, durable, until Ctrl-C', SERVER_HELP),
)
  .option('--temporal-port <port>', 'port of the server, 0 for any (default: 7233)', port)
  .option('--ui-port <port>', 'port of the Temporal UI, 0 for any (default: 8233)', port)
  .option('--http-port <port>', 'port of the gateway, 0 for any (default: 2700)', port)
  .action(async (flags: DevFlags) => {
    exitCode = await (await import('./dev.js')).dev({ ...flags, debug: isDebug() });
  });

withGatewayFlags(subcommand('run', 'run an agent and show it live', runHelp()))
  .argument('<agent>', 'like demo.assistant')
  .argument('<prompt>', 'what to ask it; - reads stdin')
  .option('--json', 'every event as one line of JSON on stdout, and nothing else there')
  .option('--run-id <id>', 'the id of the run; made up if absent')
  .option('--model-profile <name>', 'a model profile of the configuration')
  .option('--client-tools <file>', 'JSON: a list of { name: client_…, description, input_schema } that you will run')
  .option('--max-steps <n>', 'at most so many model calls before it has to answer', positive)
  .option('--save-files <dir>', 'keeps copies of the files that the run makes there')
  .option('--no-markdown', 'on a terminal too, show texts of the model as they are written')
  .action(async (agent: string, prompt: string, flags: RunFlags) => {
    exitCode = await (await import('./run.js')).run(agent, prompt, { ...flags, debug: isDebug() });
  });

withGatewayFlags(subcommand('chat', 'talk with an agent, in a thread that stays', chatHelp()))
  .argument('[agent]', 'like demo.assistant; the first of the configuration if absent')
  .option('--thread <id>', 'go on with a thread that is there')
  .option('--model-profile <name>', 'a model profile of the configuration, for a new thread')
  .option('--client-tools <file>', 'JSON: a list of { name: client_…, description, input_schema } that you will run')
  .option('--no-markdown', 'on a terminal too, show texts of the model as they are written')
  .action(async (agent: string | undefined, flags: ChatFlags) => {
    exitCode = await (await import('./chat.js')).chat(agent, { ...flags, debug: isDebug() });
  });

subcommand('worker', 'start a worker on a server that is there', SERVER_HELP).action(async (flags: WorkerFlags) => {
  exitCode = await (await import('./worker.js')).worker({ ...flags, debug: isDebug() });
});

withAuthFlags(
  subcommand('gateway', 'serve runs over HTTP, on a server that is there', `${SERVER_HELP}\n${GATEWAY_HELP}`),
)
  .option('--host <address>', 'where it listens (env PERDURE_HOST; else 127.0.0.1)')
  .option('--http-port <port>', 'its port, 0 for any (default: 2700)', port)
  .action(async (flags: GatewayFlags) => {
    exitCode = await (await import('./gateway.js')).gateway({ ...flags, debug: isDebug() });
  });

const keys = program.command('keys').description('API keys of the gateway');
keysCommand('create', 'make a key, and show it once')
  .requiredOption('--org <id>', 'whose runs it may see')
  .requiredOption('--user <id>', 'who calls with it')
  .option('--role <role>', 'member or admin (default: member)')
  .option('--roles <list>', 'further roles, for the application’s own rules')
  .option('--scopes <list>', 'what it may do (default: what its role may)')
  .option('--profiles <list>', 'stream profiles it may ask for, the first is its default (default: user_chat)')
  .action(async (flags: CreateKeyFlags) => {
    exitCode = await (await import('./keys.js')).createKey(flags);
  });
keysCommand('list', 'show whose keys there are').action(async (flags: KeysFlags) => {
  exitCode = await (await import('./keys.js')).listKeys(flags);
});
keysCommand('revoke', 'refuse a key from now on')
  .argument('<id>', 'as `keys list` shows it')
  .action(async (id: string, flags: KeysFlags) => {
    exitCode = await (await import('./keys.js')).revokeKey(id, flags);
  });

withGatewayFlags(subcommand('ls', 'list runs, the newest first', SERVER_HELP))
  .option('--agent <id>', 'of this agent')
  .addOption(new Option('--phase <phase>', 'in this phase').choices(RunPhase.options))
  .option('--waiting', 'that wait for somebody: an answer, an approval, tool results')
  .option('--limit <n>', 'at most so many', positive, 20)
  .option('--json', 'one line of JSON for each')
  .action(async (flags: LsFlags) => {
    exitCode = await (await import('./ls.js')).ls(flags);
  });

withGatewayFlags(subcommand('threads', 'list threads: their titles, and whose turn it is', SERVER_HELP))
  .option('--agent <id>', 'of this agent')
  .option('--limit <n>', 'at most so many', positive, 20)
  .option('--json', 'one line of JSON for each')
  .action(async (flags: ThreadsFlags) => {
    exitCode = await (await import('./threads.js')).threads(flags);
  });

withGatewayFlags(subcommand('cancel', 'tell a run, or the open turn of a thread, to stop', SERVER_HELP))
  .argument('<run>', 'its id, or that of a thread')
  .addOption(
    new Option('--reason <reason>', 'for the log (default: user_requested)').choices([
      'user_requested',
      'deadline',
      'thread_deleted',
    ]),
  )
  .option('--note <text>', 'why, in your own words, for the log')
  .action(async (run: string, flags: CancelFlags) => {
    exitCode = await (await import('./cancel.js')).cancel(run, flags);
  });

withGatewayFlags(subcommand('inspect', 'show where a run stands: phase, steps, tools, usage, answer', SERVER_HELP))
  .argument('<run>', 'its id')
  .option('--events', 'its log, one line for each event')
  .option(
    '--profile <name>',
    'with --events: what an audience sees: user_chat, event_contract, agent_debug (the whole tree), metrics or your own',
  )
  .option('--outputs', 'with what its tools returned')
  .option('--tool <call>', 'one call in full: arguments, output, and what it threw')
  .option('--json', 'the same as JSON; with --events one line of JSON for each')
  .option('--no-markdown', 'on a terminal too, show texts of the model as they are written')
  .action(async (run: string, flags: InspectFlags) => {
    exitCode = await (await import('./inspect.js')).inspect(run, flags);
  });

withGatewayFlags(subcommand('tree', 'draw a run and all below it, live, until it has ended', SERVER_HELP))
  .argument('<run>', 'its id, or that of a child')
  .option('--json', 'the tree as JSON; with --follow one line whenever it changes')
  .option('--follow', 'until the run has ended (so it is on a terminal)')
  .option('--no-follow', 'as it is now (so it is on a pipe)')
  .action(async (run: string, flags: TreeFlags) => {
    exitCode = await (await import('./tree.js')).tree(run, flags);
  });

withGatewayFlags(subcommand('answer', 'answer what a run or one of its descendants waits for', answerHelp()))
  .argument('<run>', 'its id, or that of a child')
  .argument('[text]', 'the answer to a question')
  .option('--approve [digest]', 'let the call of that digest be made; without it, at a terminal, it is shown first')
  .option('--deny', 'do not')
  .option('--note <text>', 'why: in the log, and for the model where it is a no')
  .option('--result <call=value>', 'what your tool returned, JSON or text; repeatable', several)
  .option('--error <call=text>', 'how your tool failed; repeatable', several)
  .option('--declined <call>', 'your tool was not run; repeatable', several)
  .option('--await <id>', 'which pause, where several are open')
  .option('--by <name>', 'who answers, for the log (else your login name)')
  .action(async (run: string, text: string | undefined, flags: AnswerFlags) => {
    exitCode = await (await import('./answer.js')).answer(run, text, flags);
  });

// Here for the help: what follows it is the other command's, and is not looked at.
program.command('temporal').description("Temporal's own command, on the server of this folder").argument('[args...]');

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever read us is gone, as with `| head`, or the terminal is: nobody misses the rest.
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

try {
  if (process.argv[2] === 'temporal') exitCode = await (await import('./temporal.js')).temporal(process.argv.slice(3));
  else await program.parseAsync();
} catch (error) {
  exitCode = await reportError(error, isDebug());
}
await written();
process.exit(exitCode);

function keysCommand(name: string, summary: string): Command {
  return keys
    .command(name)
    .description(summary)
    .option('--api-keys-file <file>', KEYS_FILE_HELP)
    .option('--config <file>', 'configuration (else perdure.config.ts, .js or .mjs here)')
    .option('--data-dir <dir>', 'data folder (else .perdure beside the configuration)');
}

function subcommand(name: string, summary: string, help: string): Command {
  return withServerFlags(program.command(name))
    .description(summary)
    .option('--config <file>', 'configuration (else perdure.config.ts, .js or .mjs here)')
    .option(
      '--data-dir <dir>',
      'data of runs, shared by the commands and workers (else .perdure beside the configuration)',
    )
    .addHelpText('after', help);
}

function runHelp(): string {
  return `
Without a server, one is started for the time of the run, with a worker of the configuration here (or the built-in
demo); it forgets the run, unless --data-dir is given. On a server that is there the run is left to its workers,
unless these are known to serve other agents, and nobody named that server.

Ctrl-C cancels the run and waits for its end; a second one leaves it alone and goes.
${SERVER_HELP}
${EXIT_CODES_HELP}`;
}

function chatHelp(): string {
  return `
Each line is a message; /help lists what else can be typed. From a pipe, each line is sent when the turn before it is
over, and the exit code is that of the first turn that did not succeed. Without a server, one is started for the time
of the chat, as for run; --data-dir keeps its threads.

Ctrl-C cancels the turn; a second one leaves, and the thread goes on.
${SERVER_HELP}
${EXIT_CODES_HELP}`;
}

function answerHelp(): string {
  return `
Without an answer it lists what is open in the run and below it, and what to type. A call is approved by the digest
that is shown with it: should it be another one by then, nothing is approved.
${SERVER_HELP}`;
}

function several(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function port(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= 65_535) return number;
  throw new InvalidArgumentError('A port is a number from 0 to 65535.');
}

function positive(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number from 1.');
}
