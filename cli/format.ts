/** Numbers, ids and arguments as people read them. */
import type { RunUsage } from '../contract/run.js';

export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
}

/** As the clock here shows it. */
export function localTime(iso: string): string {
  const time = new Date(iso);
  const two = (number: number) => String(number).padStart(2, '0');
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${date} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`;
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`;
}

export function usage({ model_calls, tool_calls, input_tokens, output_tokens, cost_usd }: RunUsage): string {
  const tokens = `${count(input_tokens + output_tokens, 'token')} (${input_tokens} in, ${output_tokens} out)`;
  const cost = cost_usd === undefined ? [] : [`$${cost_usd.toFixed(4)}`];
  return [count(model_calls, 'model call'), count(tool_calls, 'tool call'), tokens, ...cost].join(', ');
}

/** Of a debug message: its frames are for `inspect --json`, and the worker has told them. */
export function withoutStack(text: string): string {
  return text.replaceAll(/\n\s+at [^\n]*/g, '');
}

/** One line of it: whitespace collapsed, cut at `length` characters. */
export function line(text: string, length = 100): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > length ? `${flat.slice(0, Math.max(0, length - 1))}…` : flat;
}
