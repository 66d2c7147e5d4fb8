/** A streamed answer through worker and gateway, beside the same model behind a bare endpoint; and crowds of readers. */
import { spawn } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamText } from 'hono/streaming';
import { workerPolls } from '../client/worker-polls.js';
import { createLog } from '../gateway/log.js';
import { openRecords } from '../store/records.js';
import { serveGateway } from '../gateway/serve-gateway.js';
import { defineAgent } from '../kit/index.js';
import { agesOf, clockModel, ticks } from './clock-model.js';
import { median, openStage, quantile, table } from './stage.js';

const ANSWERS = 15;
const WORDS = 60;
const CROWD_WORDS = 300;
const CROWDS = [1, 10, 100, 1_000];

interface Heard {
  first: number;
  ages: number[];
}

export async function gatewayStream(): Promise<string> {
  const stage = await openStage();
  let release = () => {};
  let gate = Promise.resolve();
  const worker = await stage.worker(
    {
      agents: [
        defineAgent({ agent_id: 'bench.clock', instructions: 'Tick.', model: 'clock' }),
        defineAgent({ agent_id: 'bench.crowd', instructions: 'Tick.', model: 'crowd' }),
      ],
      models: {
        clock: { provider: clockModel(() => 10), model: 'clock' },
        crowd: {
          provider: clockModel(
            () => 0,
            () => gate,
          ),
          model: 'clock',
        },
      },
    },
    'gateway',
  );
  const records = await openRecords({ dataDir: stage.server.dataDir, report: console.error });
  const gateway = await serveGateway({
    runs: worker.client.runs,
    threads: worker.client.threads,
    records,
    artefacts: worker.artefacts,
    payloads: worker.storage.payloads,
    workerPolls: () => workerPolls(worker.temporal, 'gateway'),
    catalog: {
      agents: ['bench.clock', 'bench.crowd'].map((agent_id) => ({ agent_id, model_profile: 'clock', tools: [] })),
      model_profiles: [{ id: 'clock', label: 'Clock', description: 'A clock.', is_default: true }],
      policies: new Map(),
    },
    auth: { kind: 'off' },
    limits: { connections_per_address: 2_000, open_streams: 2_000, requests_per_second: 10_000, request_burst: 10_000 },
    log: createLog({ write: () => {} }, 'error'),
    host: '127.0.0.1',
    port: 0,
    endStreams: () => Promise.resolve(),
  });
  const bare = await bareEndpoint();
  try {
    const ours = () =>
      listen(
        `${gateway.url}/v1/runs?stream=true&format=ndjson`,
        { agent_id: 'bench.clock', input: `say ${WORDS} words` },
        (line) => {
          const event = JSON.parse(line) as { type?: string; text?: string };
          return event.type === 'text_chunk' ? (event.text ?? '') : '';
        },
      );
    const theirs = () => listen(`${bare.url}/answer`, { words: WORDS }, (text) => text);
    await ours();
    await theirs();
    const heard = { ours: [] as Heard[], theirs: [] as Heard[] };
    for (let n = 0; n < ANSWERS; n++) {
      heard.ours.push(await ours());
      heard.theirs.push(await theirs());
    }
    const answers = summary(heard);

    const rows: (string | number)[][] = [];
    let single = 0;
    for (const readers of CROWDS) {
      gate = new Promise((resolve) => (release = resolve));
      const { run_id } = await worker.client.runs.start({ agent_id: 'bench.crowd', input: `say ${CROWD_WORDS} words` });
      const { lines, ended, seconds } = await crowd(
        `${gateway.url}/v1/runs/${run_id}/events?trailer=true`,
        readers,
        () => release(),
      );
      if (ended !== readers)
        throw new Error(`${readers - ended} of ${readers} readers did not get the end of ${run_id}`);
      const rate = lines / seconds;
      if (readers === 1) single = rate;
      rows.push([
        readers,
        (lines / readers).toFixed(0),
        seconds.toFixed(2),
        rate.toFixed(0),
        (rate / single).toFixed(1),
      ]);
    }
    return [
      answers,
      '',
      table(['readers of one run', 'lines to each', 'seconds', 'lines/s to all', 'ratio to one reader'], rows),
      '',
      `Every reader got every durable event and the end; one that falls behind gets live words merged, so it has fewer lines with the same text. The readers are a process of their own on the same machine. The run says ${CROWD_WORDS} words as fast as it can.`,
    ].join('\n');
  } finally {
    await gateway.stop();
    await records.close();
    await bare.stop();
    await stage.close();
  }
}

function summary({ ours, theirs }: { ours: Heard[]; theirs: Heard[] }): string {
  const row = (name: string, heard: Heard[]) => {
    const ages = heard.flatMap((one) => one.ages);
    return { name, first: median(heard.map((one) => one.first)), middle: median(ages), late: quantile(ages, 0.99) };
  };
  const rows = [row('Perdure: worker and gateway', ours), row('the model behind a bare hono endpoint', theirs)];
  const [a, b] = rows as [(typeof rows)[0], (typeof rows)[0]];
  return [
    table(
      ['', 'ms to the first word, median', 'ms from word to reader, median', 'p99'],
      rows.map(({ name, first, middle, late }) => [name, first.toFixed(1), middle.toFixed(2), late.toFixed(2)]),
    ),
    '',
    `Ratios: first word ${(a.first / b.first).toFixed(1)}, word to reader ${(a.middle / b.middle).toFixed(1)}. The first word of a durable run waits for its start, the resolving of its agent and its first step to be written: ${(a.first - b.first).toFixed(0)} ms here. ${ANSWERS} answers of ${WORDS} words each way, in turns, a word every 10 ms.`,
  ].join('\n');
}

async function listen(url: string, body: unknown, textOf: (line: string) => string): Promise<Heard> {
  const asked = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok || response.body === null)
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  let first = Number.NaN;
  const ages: number[] = [];
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const text = line === '' ? '' : textOf(line);
      if (text.trim() === '') continue;
      if (Number.isNaN(first)) first = performance.now() - asked;
      ages.push(...agesOf(text));
    }
  }
  return { first, ages };
}

async function bareEndpoint(): Promise<{ url: string; stop(): Promise<void> }> {
  const app = new Hono();
  app.post('/answer', async (context) => {
    const { words } = await context.req.json<{ words: number }>();
    return streamText(context, async (stream) => {
      for await (const word of ticks(words, 10)) await stream.write(`${word}\n`);
    });
  });
  const server = await new Promise<Server>((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening as Server));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** From the moment that the model begins, with all readers connected, to the end of the last one's stream. */
async function crowd(
  url: string,
  readers: number,
  begin: () => void,
): Promise<{ lines: number; ended: number; seconds: number }> {
  const script = fileURLToPath(new URL('./stream-readers.js', import.meta.url));
  const child = spawn(process.execPath, [script, url, String(readers)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  let began = 0;
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (began === 0 && said.includes('ready\n')) {
      began = performance.now();
      begin();
    }
  }
  const seconds = (performance.now() - began) / 1_000;
  const result = JSON.parse(said.slice(said.indexOf('{'))) as { lines: number; ended: number };
  return { ...result, seconds };
}
