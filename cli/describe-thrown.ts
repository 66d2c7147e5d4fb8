/** What the application's code threw, as its author reads it: which call of which run, why, and where. */
import { withoutSecrets } from '../activities/environment.js';
import type { Thrown } from '../activities/thrown.js';
import { isDebug } from './debug.js';
import { framesOf } from './stack-frames.js';

export function describeThrown({ what, error, run_id, tool_call_id, attempt = 1, repeated = false }: Thrown): string {
  const where = [
    ...(run_id === undefined ? [] : [`run ${run_id}`]),
    ...(tool_call_id === undefined ? [] : [`call ${tool_call_id}`]),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ].join(', ');
  const head = `✗ ${what} threw${where === '' ? '' : ` (${where})`}`;
  // Logs are kept and passed on; its author knows the values of the environment.
  return repeated ? `${head}: the same again` : withoutSecrets([head, ...describeError(error)].join('\n'));
}

function describeError(error: unknown, seen: readonly unknown[] = []): string[] {
  if (!(error instanceof Error)) return [`    it threw no Error but: ${String(error)}`];
  const frames = framesOf(error.stack ?? '');
  const own = frames.filter((frame) => frame.isOwn);
  const shown = isDebug() || own.length === 0 ? frames : own;
  const hidden = frames.length - shown.length;
  const message = `${error.name}: ${error.message}`.split('\n');
  const { cause } = error;
  return [
    ...message.map((line) => `    ${line}`),
    ...shown.map(({ name, place }) => `      at ${name === '' ? place : `${name} (${place})`}`),
    ...(hidden === 0 ? [] : [`      and ${hidden} more in libraries and in Perdure: --debug shows them`]),
    ...(cause === undefined || seen.includes(cause)
      ? []
      : ['    caused by', ...describeError(cause, [...seen, error])]),
  ];
}
