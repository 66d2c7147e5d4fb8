/**
 * What the application prints, caught where Perdure owns the process: `console.log` in a tool must break neither lines of
 * JSON on stdout nor a screen that is redrawn.
 *
 * P1  All that is written by `process.stdout` or `process.stderr` is caught, whoever calls it; the command itself goes
 *     past them (`own-output.ts`). What writes to the file descriptors by itself, or a child process, is not.
 * P2  It comes out line by line, in order, each with the id of the tool whose call it was printed in, where there is one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AroundTool } from '../activities/call-tool.js';

export interface CaughtPrints {
  /** Tools are called through this, so that their prints can be told apart. */
  around: AroundTool;
}

/** A line of which only a beginning has come is shown without its end after so long. */
const PATIENCE_MS = 100;
const LONGEST_LINE = 64 * 1024;

interface Source {
  prefix: string;
  /** By stream, so that two do not share a line. */
  lines: Map<string, PartialLine>;
}

interface PartialLine {
  decoder: InstanceType<typeof TextDecoder>;
  text: string;
  timer?: NodeJS.Timeout;
}

const calls = new AsyncLocalStorage<Source>();

export function catchPrints(show: (text: string) => void): CaughtPrints {
  const others: Source = { prefix: '', lines: new Map() };
  let pending: string[] = [];
  let flushing: NodeJS.Immediate | undefined;

  const flush = () => {
    clearImmediate(flushing);
    flushing = undefined;
    const text = pending.join('\n');
    const isAny = pending.length > 0;
    pending = [];
    if (isAny) show(text);
  };
  const put = (source: Source, line: string) => {
    // What a progress bar overwrites is not shown.
    pending.push(`${source.prefix}${line.replace(/\r$/, '').replace(/^[^]*\r/, '')}`);
    flushing ??= setImmediate(flush);
  };
  const finish = (source: Source) => {
    for (const line of source.lines.values()) {
      clearTimeout(line.timer);
      if (line.text !== '') put(source, line.text);
      line.text = '';
    }
  };

  function caught(stream: string, chunk: Uint8Array | string): void {
    const source = calls.getStore() ?? others;
    const line = source.lines.get(stream) ?? { decoder: new TextDecoder(), text: '' };
    source.lines.set(stream, line);
    const text = line.text + (typeof chunk === 'string' ? chunk : line.decoder.decode(chunk, { stream: true }));
    const lines = text.split('\n');
    line.text = lines.pop() ?? '';
    for (const each of lines) put(source, each);
    clearTimeout(line.timer);
    if (line.text.length > LONGEST_LINE) finish(source);
    else if (line.text !== '') line.timer = setTimeout(() => finish(source), PATIENCE_MS).unref();
  }

  for (const [name, stream] of Object.entries({ stdout: process.stdout, stderr: process.stderr })) {
    type Done = (error?: Error | null) => void;
    stream.write = (chunk: Uint8Array | string, encoding?: BufferEncoding | Done, done?: Done) => {
      const isEncoded = typeof chunk === 'string' && typeof encoding === 'string' && encoding !== 'utf8';
      caught(name, isEncoded ? Buffer.from(chunk, encoding) : chunk);
      const then = typeof encoding === 'function' ? encoding : done;
      if (then !== undefined) process.nextTick(then);
      return true;
    };
  }
  process.once('exit', () => {
    finish(others);
    flush();
  });

  return {
    async around({ tool_id }, call) {
      const source: Source = { prefix: `${tool_id} │ `, lines: new Map() };
      try {
        return await calls.run(source, call);
      } finally {
        finish(source);
      }
    },
  };
}
