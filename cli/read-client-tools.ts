/** `--client-tools FILE`: the tools that the caller will run. */
import { readFileSync } from 'node:fs';
import type { RunRequest } from '../contract/run.js';
import { CommandError, messageOf } from './command-error.js';

/** What is in the list is checked with the rest of the request. */
export function readClientTools(path: string): NonNullable<RunRequest['client_tools']> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CommandError(`--client-tools: ${path} cannot be read as JSON: ${messageOf(error)}`, undefined, error);
  }
  if (Array.isArray(value)) return value as NonNullable<RunRequest['client_tools']>;
  throw new CommandError(
    `--client-tools: ${path} must hold a list, like [{"name": "client_pick_seat", "description": "…", "input_schema": {"type": "object"}}].`,
  );
}
