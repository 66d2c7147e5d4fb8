/** `npm run bench [-- names]`: prints each table and writes them to docs/benchmarks.md when all were run. */
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { archive } from './archive.js';
import { endedRuns } from './ended-runs.js';
import { deltaLatency } from './delta-latency.js';
import { gatewayStream } from './gateway-stream.js';
import { historyGrowth } from './history-growth.js';
import { threadGrowth } from './thread-growth.js';
import { throughput } from './throughput.js';
import { treeThroughput } from './tree-throughput.js';

const BENCHMARKS: Record<string, { title: string; run: () => Promise<string> }> = {
  history: { title: 'History per model call as a conversation grows', run: historyGrowth },
  threads: { title: 'History per turn as a thread grows', run: threadGrowth },
  latency: { title: 'From a delta to a subscriber', run: deltaLatency },
  tree: { title: 'Trees per second: one root and ten children', run: treeThroughput },
  gateway: { title: 'Streams over HTTP', run: gatewayStream },
  archive: { title: 'The archive: a hundred thousand runs', run: archive },
  ended: { title: 'Reading a run that has ended: from the archive, and by replay', run: endedRuns },
  throughput: { title: 'Runs per second of a three-step agent', run: throughput },
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(BENCHMARKS).join(', ')}.`);
  process.exit(2);
}
const sections: string[] = [];
for (const [name, { title, run }] of Object.entries(BENCHMARKS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const section = `## ${title}\n\n\`npm run bench -- ${name}\`\n\n${await run()}\n`;
  console.log(section);
  sections.push(section);
}
if (asked.length === 0) {
  const head = `# Benchmarks

Written by \`npm run bench\` (Node ${process.versions.node}, ${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown CPU'}), on the tuned embedded server, in memory. Times depend on the machine; ratios are taken within one run.

For comparison, figures that were given to us for Temporal's own openai-agents plugin; this command does not measure it: 0.22 of the bare workflow's throughput, 116 ms from delta to reader, and 235 history events for one watched answer where the bare run has 42.
`;
  await writeFile(new URL('../../docs/benchmarks.md', import.meta.url), `${head}\n${sections.join('\n')}`);
}
