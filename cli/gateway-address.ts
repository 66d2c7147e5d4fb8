/** Which gateway, where the command goes through one and not to a Temporal server. Flags win over the environment. */
import type { Command } from 'commander';
import { createHttpClient } from '../client/http/index.js';
import type { HttpClient, HttpClientOptions } from '../client/http/index.js';
import { CommandError } from './command-error.js';
import type { FoundBy } from './repeat-flags.js';

export function withGatewayFlags(command: Command): Command {
  return command.option(
    '--url <url>',
    'a gateway, in place of a Temporal server (env PERDURE_URL; token: PERDURE_TOKEN)',
  );
}

/** Undefined where a Temporal server is meant. */
export function gatewayClient(
  flags: FoundBy,
  env: NodeJS.ProcessEnv,
  reconnect: Pick<HttpClientOptions, 'giveUpAfterMs' | 'onConnection'> = {},
): HttpClient | undefined {
  const { url: given, address } = flags;
  if (given !== undefined && address !== undefined) {
    throw new CommandError('--url names a gateway and --address a Temporal server: give one or the other.');
  }
  // A server that somebody names now is meant more than a gateway that the environment always names.
  const url = given ?? (address === undefined ? env['PERDURE_URL'] : undefined);
  if (url === undefined || url === '') return undefined;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    const from = given === undefined ? 'PERDURE_URL' : '--url';
    throw new CommandError(`${from} is "${url}", and a gateway has an address such as http://127.0.0.1:2700.`);
  }
  const token = env['PERDURE_TOKEN'];
  return createHttpClient({ url, ...reconnect, ...(token === undefined || token === '' ? {} : { token }) });
}
