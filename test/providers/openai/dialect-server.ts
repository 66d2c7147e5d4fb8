/** A server that speaks Chat Completions in its own way: it writes words until it has written enough, or is left. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';

interface Dialect {
  /** What it calls the limit of an answer. Anything else it refuses or ignores. */
  limit: 'max_tokens' | 'max_completion_tokens' | 'none';
  refusal?: 'error' | 'detail' | 'text';
  usage?: 'none' | 'whole' | 'zeros' | 'input only';
  /** How many words it writes where nobody limits it. */
  words?: number;
  /** So many of them are reasoning. */
  reasons?: number;
}

export interface DialectServer {
  baseURL: string;
  /** The bodies of all requests. */
  requests: Record<string, unknown>[];
  /** Words that it wrote in the last answer that has ended. */
  written(): number;
  close(): Promise<void>;
}

const WORD = 'four';

export async function startDialectServer(dialect: Dialect): Promise<DialectServer> {
  const requests: Record<string, unknown>[] = [];
  let written = 0;
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const piece of request) text += String(piece);
      const body = JSON.parse(text) as Record<string, unknown>;
      requests.push(body);
      const unknown = ['max_tokens', 'max_completion_tokens'].find((name) => name in body && name !== dialect.limit);
      if (unknown !== undefined && dialect.refusal !== undefined) {
        const { status, body: why } = refusal(dialect.refusal, unknown);
        return response.writeHead(status, { 'content-type': 'application/json' }).end(why);
      }
      const asked = dialect.limit === 'none' ? undefined : body[dialect.limit];
      const most = typeof asked === 'number' ? asked : (dialect.words ?? 10);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const send = (chunk: object) => response.write(`data: ${JSON.stringify({ id: 'c1', ...chunk })}\n\n`);
      let words = 0;
      for (; words < most && !response.destroyed; words++) {
        const isReasoning = words < (dialect.reasons ?? 0);
        send({ choices: [{ index: 0, delta: isReasoning ? { reasoning_content: WORD } : { content: WORD } }] });
        await tick();
      }
      written = words;
      if (response.destroyed) return undefined;
      send({ choices: [{ index: 0, delta: {}, finish_reason: most === asked ? 'length' : 'stop' }] });
      const usage = usageOf(dialect.usage ?? 'none', words);
      if (usage !== undefined) send({ choices: [], usage });
      return response.end('data: [DONE]\n\n');
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    written: () => written,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refusal(shape: NonNullable<Dialect['refusal']>, name: string): { status: number; body: string } {
  if (shape === 'error') {
    const message = `Unrecognized request argument supplied: ${name}`;
    return { status: 400, body: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) };
  }
  if (shape === 'text') return { status: 400, body: `unknown field \`${name}\`` };
  const detail = [{ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }];
  return { status: 422, body: JSON.stringify({ detail }) };
}

function usageOf(usage: NonNullable<Dialect['usage']>, written: number): object | undefined {
  if (usage === 'none') return undefined;
  if (usage === 'zeros') return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  if (usage === 'input only') return { prompt_tokens: 21 };
  return { prompt_tokens: 21, completion_tokens: written, total_tokens: 21 + written };
}
