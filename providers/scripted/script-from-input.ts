import { PerdureError } from '../../contract/errors.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import { textOf } from './check-expectation.js';
import { Script } from './script.js';

/** For `scripted(scriptFromInput)`: the run's input is the script, so one worker plays any. */
export function scriptFromInput(request: ModelRequest): Script {
  const text = textOf(request.messages.find((message) => message.role === 'user')?.content ?? null);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    const what = `The input of ${request.run_id} should be a script in JSON and begins with ${JSON.stringify(text.slice(0, 80))}`;
    throw new PerdureError('script_mismatch', what, { provider: 'scripted' });
  }
  return parseScript(json, `The input of ${request.run_id}`);
}

export function parseScript(value: unknown, what: string): Script {
  const parsed = Script.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || '(script)'}: ${issue.message}`);
  throw new PerdureError('script_mismatch', `${what} is no valid script: ${issues.join('; ')}`, {
    provider: 'scripted',
  });
}
