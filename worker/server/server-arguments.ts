import { DATABASE_FILE } from './data-folder.js';
import type { SearchAttributes } from './set-up-namespace.js';

/** With the first three a run of ten steps takes 125 ms, without them 1,050 ms. */
const DYNAMIC_CONFIG: Readonly<Record<string, unknown>> = {
  'history.transferProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxTimeShift': '50ms',
  // 1 by default: a second query that meets an open workflow task would be refused.
  'history.MaxBufferedQueryCount': 50,
  // 2 s by default: a run that closed that soon after the first start would still get the old retention of a day.
  'system.namespaceCacheRefreshInterval': '200ms',
};

export interface ServerArguments {
  port: number;
  uiPort: number | undefined;
  namespace: string;
  searchAttributes: SearchAttributes;
  durable: boolean;
  /** Values of the server's dynamic configuration, beside or in place of ours. */
  dynamicConfig?: Readonly<Record<string, unknown>> | undefined;
  /** Asked by pages of the UI to decrypt payloads. */
  codecEndpoint?: string | undefined;
}

export function serverArguments(given: ServerArguments): string[] {
  const { port, uiPort, namespace, searchAttributes, durable, codecEndpoint, dynamicConfig } = given;
  const pairs = (
    flag: string,
    values: Readonly<Record<string, unknown>>,
    write: (value: unknown) => string,
  ): string[] => Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${write(value)}`]);
  return [
    'server',
    'start-dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--log-level',
    'error',
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(uiPort === undefined || codecEndpoint === undefined ? [] : ['--ui-codec-endpoint', codecEndpoint]),
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
    // A bare name, relative to the working folder: the server puts it into a URI without escaping, and a folder
    // with a `?`, `#` or `%` in its path would lead to another file.
    ...(durable ? ['--db-filename', DATABASE_FILE] : []),
    ...(durable ? pairs('--sqlite-pragma', { journal_mode: 'WAL', synchronous: 'FULL' }, String) : []),
    ...pairs('--dynamic-config-value', { ...DYNAMIC_CONFIG, ...dynamicConfig }, JSON.stringify),
    ...pairs('--search-attribute', searchAttributes, String),
  ];
}
