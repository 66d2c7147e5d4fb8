/** Runs programs for a test, as another user or to be killed: a request in JSON per line, an answer per line. */
import { createInterface } from 'node:readline';
import { createTool, runCode } from './run-code.js';
import type { PlaceRequest } from './places.js';

const tools = new Map<string, ReturnType<typeof createTool>>();
for await (const line of createInterface({ input: process.stdin })) {
  const { options, code } = JSON.parse(line) as PlaceRequest;
  const say = (answer: object) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  const key = JSON.stringify(options);
  const tool = tools.get(key) ?? createTool(options);
  tools.set(key, tool);
  await runCode(tool, code, { onLive: (text) => say({ live: text }) }).then(
    (outcome) => say({ outcome }),
    (error: Error) => say({ error: error.message }),
  );
}
