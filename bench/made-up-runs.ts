/** Runs as an assistant with tools leaves them, made up: the same ones for the same number, in any order. */

/** Words by how often people use them: a few are everywhere, most are rare. */
const VOCABULARY = 20_000;
const SYLLABLES = [
  'ka',
  'lo',
  'mi',
  'ren',
  'tu',
  'sha',
  'vel',
  'or',
  'ban',
  'que',
  'dis',
  'po',
  'ty',
  'gra',
  'ne',
  'su',
];
const AGENTS = 20;
const ORGS = 10;
const USERS_OF_ORG = 50;
const TOOLS = [
  'shop.orders.status',
  'shop.orders.refund',
  'web.pages.read_web_page',
  'web.search.search',
  'code.python.run',
];
const RARE_TOOL = 'shop.ledger.audit';
const MODELS = ['gpt-5-mini', 'gpt-5', 'claude-sonnet-4-5', 'gemini-2.5-flash'];
const FIRST_START = Date.UTC(2026, 0, 1);
/** So that a hundred thousand of them are some three months. */
const BETWEEN_MS = 80_000;

type Chance = () => number;

function chanceOf(seed: number): Chance {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The nth word by frequency. */
export function wordOf(rank: number): string {
  let text = '';
  for (let left = rank + 16; left > 0; left = Math.floor(left / 16)) text += SYLLABLES[left % 16] ?? '';
  return text;
}

function textOf(chance: Chance, words: number): string {
  const chosen = Array.from({ length: words }, () => wordOf(Math.floor(VOCABULARY ** chance()) - 1));
  return `${chosen.join(' ')}.`;
}

function pick<T>(chance: Chance, list: readonly T[]): T {
  return list[Math.floor(chance() * list.length)] as T;
}

export function madeUpRun(n: number) {
  const chance = chanceOf(n + 1);
  const run_id = `demo-${n.toString(36).padStart(6, '0')}-${Math.floor(chance() * 1e9).toString(36)}`;
  const agent_id = `desk.agent_${Math.floor(chance() ** 2 * AGENTS)}`;
  const org = Math.floor(chance() ** 2 * ORGS);
  const started_at = FIRST_START + n * BETWEEN_MS + Math.floor(chance() * BETWEEN_MS);
  const steps = 1 + Math.floor(chance() * 4);
  const failed = chance() < 0.03;
  const input = textOf(chance, 12 + Math.floor(chance() * 40));
  const answer = textOf(chance, 60 + Math.floor(chance() * 120));
  const model = pick(chance, MODELS);
  const events: string[] = [];
  let at = started_at;
  const say = (type: string, more: object) => {
    const seq = events.length;
    at += Math.floor(chance() * 300);
    const head = { type, seq, event_id: `${run_id}:${seq}`, at: new Date(at).toISOString(), run_id, agent_id };
    events.push(JSON.stringify({ ...head, root_run_id: run_id, ...more }));
  };
  const tools = new Map<string, { count: number; failures: number }>();
  let [tokensIn, tokensOut] = [0, 0];
  say('run_started', { input });
  say('run_phase_changed', { phase: 'prompted' });
  say('run_phase_changed', { phase: 'planning', previous_phase: 'prompted' });
  for (let step = 1; step <= steps; step++) {
    const step_id = `step_${step}`;
    say('step_started', { step_id, step_number: step, title: `Step ${step}` });
    say('thinking_end', { step_id, block_id: `${step_id}.block_1`, attempt: 1, text: textOf(chance, 40) });
    const usage = {
      model,
      input_tokens: 400 + Math.floor(chance() * 3_000),
      output_tokens: Math.floor(chance() * 600),
    };
    tokensIn += usage.input_tokens;
    tokensOut += usage.output_tokens;
    say('usage_recorded', { step_id, usage });
    if (step === steps) {
      say('text_end', { step_id, block_id: `${step_id}.block_2`, attempt: 1, text: answer });
    } else {
      const tool_id = chance() < 0.002 ? RARE_TOOL : pick(chance, TOOLS);
      const status = chance() < 0.05 ? 'error' : 'success';
      const call = { step_id, tool_id, tool_call_id: `call_${step}_1` };
      const before = tools.get(tool_id) ?? { count: 0, failures: 0 };
      tools.set(tool_id, { count: before.count + 1, failures: before.failures + (status === 'error' ? 1 : 0) });
      say('tool_requested', { ...call, name: tool_id, arguments: JSON.stringify({ query: textOf(chance, 5) }) });
      say('policy_decided', { ...call, decision: 'allow', reason: 'allowed' });
      say('run_phase_changed', { phase: 'executing_tools', previous_phase: 'planning' });
      say('tool_scheduled', { ...call, timeout_ms: 60_000 });
      const content = textOf(chance, 80 + Math.floor(chance() * 300));
      say('tool_result', { ...call, status, name: tool_id, content, duration_ms: 120, attempts: 1 });
      say('run_phase_changed', { phase: 'planning', previous_phase: 'executing_tools' });
    }
    say('step_completed', { step_id, status: 'completed', duration_ms: 900 });
  }
  if (!failed) say('summary_final', { step_id: `step_${steps}`, text: answer });
  const phase = failed ? ('failed' as const) : ('completed' as const);
  say('run_phase_changed', { phase, previous_phase: 'planning' });
  say('run_completed', { status: failed ? 'failed' : 'success', phase, ...(failed ? {} : { answer }) });
  return {
    events,
    run: {
      run_id,
      agent_id,
      root_run_id: run_id,
      ...(chance() < 0.3 ? { thread_id: `thr_${Math.floor(n / 30)}` } : {}),
      org_id: `org_${org}`,
      created_by: `user_${Math.floor(chance() * USERS_OF_ORG)}`,
      status: failed ? ('failed' as const) : ('success' as const),
      phase,
      started_at: new Date(started_at).toISOString(),
      ended_at: new Date(at).toISOString(),
      steps,
      tool_calls: [...tools.values()].reduce((sum, { count }) => sum + count, 0),
      input_tokens: tokensIn,
      output_tokens: tokensOut,
      cost_usd: (tokensIn * 0.25 + tokensOut * 2) / 1e6,
      model,
      input,
      ...(failed ? { failure_code: 'model_overloaded' } : { answer }),
      metadata: { channel: pick(chance, ['web', 'mail', 'phone']) },
      tools: [...tools].map(([tool_id, counts]) => ({ tool_id, ...counts })),
    },
  };
}
