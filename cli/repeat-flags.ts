/** The flags with which another command finds what this one found: for hints that can be copied. */
import type { ServerFlags } from './server-settings.js';

export interface FoundBy extends ServerFlags {
  config?: string;
  dataDir?: string;
  /** Of a gateway, in place of a server. */
  url?: string;
}

/** Begins with a space where there are any. */
export function repeatFlags({ url, address, namespace, config, dataDir }: FoundBy): string {
  const given = [
    ['--url', url],
    ['--address', address],
    ['--namespace', namespace],
    ['--config', config],
    ['--data-dir', dataDir],
  ];
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${quoted(value)}`])).join('');
}

/** As a shell takes it for one word. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
