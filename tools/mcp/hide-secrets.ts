/** What is said of a server, and what it says of its own failures, without the credentials that it was given. */
import { basename } from 'node:path';
import { createScrub } from '../../contract/scrub-secrets.js';
import type { Scrub } from '../../contract/scrub-secrets.js';
import { secretSettings } from '../../contract/secret-settings.js';
import { ToolError } from '../../kit/tool-error.js';
import type { McpServer } from './mcp-server.js';

/** `credentials`: its headers, or its environment. */
export function hiderFor(server: McpServer, credentials: Readonly<Record<string, string>>): Scrub {
  if ('http' in server) {
    const { url } = server.http;
    const query = URL.canParse(url) ? Object.fromEntries(new URL(url).searchParams) : {};
    return createScrub([...secretSettings(credentials), ...secretSettings(query)]);
  }
  const { command, cwd } = server.stdio;
  const scrub = createScrub(secretSettings(credentials));
  // Where things are on the machine is of no use to a model.
  const paths = [command, ...(cwd === undefined ? [] : [cwd])].filter((path) => path.includes('/') && path !== '/');
  return (text) => paths.reduce((shown, path) => shown.replaceAll(path, basename(path)), scrub(text));
}

export function hiddenIn({ kind, message, retryable, issues }: ToolError, hide: Scrub): ToolError {
  return new ToolError(kind, hide(message), { retryable, issues });
}
