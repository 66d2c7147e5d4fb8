/**
 * The limits of the whole tree, by reservation: a parent leases part of what is left to each child before it starts,
 * and gets the rest back when it ends, so that children in parallel can never overspend together.
 *
 * B1  spent + leased never exceeds the limit; a child's own limit is its lease.
 * B2  A child that ends settles at what its tree spent; one whose end nobody saw settles at its full lease.
 * B3  Tokens and cost are reserved before a call as the estimate of its input and the largest output; the same again
 *     is held back for the synthesis pass. An attempt that reports no usage is charged its reservation, unless the vendor
 *     refused it; a planner reserves its allowance. A charge is kept apart from what was used, and counts the same.
 */
import type { Allowance, ModelPass } from '../contract/activities.js';
import type { Limits } from '../contract/limits.js';
import { modelChain } from '../contract/model-chain.js';
import { fixedCharacters, reservationOf } from '../contract/reservation.js';
import type { Reservation } from '../contract/reservation.js';
import type { RunUsage } from '../contract/run.js';
import { addUsage, NO_USAGE } from '../contract/snapshot.js';
import type { Run, Stop } from './run-state.js';

export interface Tree {
  /** By the call that started the child. */
  leases: Record<string, Limits>;
  /** What ended children spent, with all below them. */
  settled: RunUsage;
}

type Countable = 'max_tool_calls' | 'max_steps' | 'max_tokens' | 'max_cost_usd' | 'max_children';
const COUNTABLE: readonly Countable[] = ['max_tool_calls', 'max_steps', 'max_tokens', 'max_cost_usd', 'max_children'];

export function treeLimits(run: Run): Limits {
  const own = run.pinned?.spec.limits.tree ?? {};
  const lease = run.pinned?.request.parent?.lease ?? {};
  const limits: Limits = { ...own };
  for (const [name, value] of Object.entries(lease) as [keyof Limits, number | undefined][]) {
    if (value !== undefined) limits[name] = Math.min(value, own[name] ?? value);
  }
  return limits;
}

/** Of the run and of all below it that has ended. */
export function treeUsage(run: Run): RunUsage {
  return addUsage(run.counters.usage, run.tree.settled);
}

function spentOf(usage: RunUsage, name: Countable): number {
  switch (name) {
    case 'max_tool_calls':
      return usage.tool_calls;
    case 'max_steps':
      return usage.steps ?? 0;
    case 'max_tokens':
      return usage.total_tokens + (usage.charged_tokens ?? 0);
    case 'max_cost_usd':
      return (usage.cost_usd ?? 0) + (usage.charged_cost_usd ?? 0);
    case 'max_children':
      return usage.children ?? 0;
  }
}

/** What is left of a limit of the tree: not spent and not leased. Undefined: no limit. */
function left(run: Run, name: Countable): number | undefined {
  const limit = treeLimits(run)[name];
  if (limit === undefined) return undefined;
  const leased = Object.values(run.tree.leases).reduce((sum, lease) => sum + (lease[name] ?? 0), 0);
  return limit - spentOf(treeUsage(run), name) - leased;
}

/** What a model call with the first `length` messages can use at most, by estimate, whichever profile answers it. */
export function reservation(run: Run, length = run.log.transcript.length): Reservation {
  const model = run.pinned?.spec.model;
  const characters = charactersOf(run, length);
  const each = (model === undefined ? [undefined] : modelChain(model)).map((one) => reservationOf(one, characters));
  return {
    tokens: Math.max(...each.map(({ tokens }) => tokens)),
    cost_usd: Math.max(...each.map(({ cost_usd }) => cost_usd)),
  };
}

/** Of the next model call and its answer, by the run's own profile. */
export function tokensOfCall(run: Run): number {
  return reservationOf(run.pinned?.spec.model, charactersOf(run, run.log.transcript.length)).tokens;
}

function charactersOf(run: Run, length: number): number {
  const { characters, own } = run.compacted ?? { characters: run.turn?.characters ?? 0, own: 0 };
  const said = run.log.transcript.slice(own, length).reduce((sum, message) => sum + JSON.stringify(message).length, 0);
  return fixedCharacters(run.pinned?.spec) + characters + said;
}

/** A limit on tokens or cost that is set, what is left of it, and what one call reserves of it. */
interface Bound {
  scope: 'run' | 'tree';
  limit: 'max_tokens' | 'max_cost_usd';
  maximum: number;
  free: number;
  each: number;
}

function bounds(run: Run): Bound[] {
  const own = run.pinned?.spec.limits.run ?? {};
  const tree = treeLimits(run);
  const limits = ['max_tokens', 'max_cost_usd'] as const;
  if (limits.every((limit) => own[limit] === undefined && tree[limit] === undefined)) return [];
  const { tokens, cost_usd } = reservation(run);
  const bound = (scope: Bound['scope'], limit: Bound['limit'], maximum: number | undefined, free: number): Bound[] =>
    maximum === undefined ? [] : [{ scope, limit, maximum, free, each: limit === 'max_tokens' ? tokens : cost_usd }];
  return [
    ...limits.flatMap((limit) =>
      bound('run', limit, own[limit], (own[limit] ?? 0) - spentOf(run.counters.usage, limit)),
    ),
    ...limits.flatMap((limit) => bound('tree', limit, tree[limit], left(run, limit) ?? 0)),
  ];
}

/** The run's own, or what its parent has left. */
export function timeBudget(run: Run): number | undefined {
  const budgets = [run.pinned?.spec.limits.run?.time_budget, treeLimits(run).time_budget];
  const given = budgets.filter((budget) => budget !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

/** Each attempt at a call is paid for, so there are no more than fit; what is held back for the synthesis is not theirs. */
export function affordableAttempts(run: Run, pass: ModelPass, most: number, allowance?: Allowance): number {
  const fits = bounds(run).map(({ limit, free, each }) => {
    if (each === 0) return most;
    const attempt = (limit === 'max_tokens' ? allowance?.tokens : allowance?.cost_usd) ?? each;
    return Math.floor((pass === 'planning' ? free - each : free) / attempt);
  });
  return Math.max(1, Math.min(most, ...fits));
}

/** How often the conversation may be compacted at most, beside the call that it is for and what is held back. */
export function affordableCompactions(run: Run, pass: ModelPass, most: number): number {
  const calls = pass === 'planning' ? 2 : 1;
  const fits = bounds(run).map(({ free, each }) => (each === 0 ? most : Math.floor(free / each - calls)));
  return Math.max(0, Math.min(most, ...fits));
}

/** Before a planning call: it must fit, and the synthesis pass after it too. */
export function stopForTokens(run: Run): Stop | undefined {
  return bounds(run)
    .filter(({ free, each }) => free < 2 * each)
    .map((bound) => stopOf(bound, 2 * bound.each))[0];
}

/**
 * What a planner may spend in one attempt, however often it calls the model: half of what is left beside the
 * synthesis pass, so that there is something for a second attempt and for further steps; at least one call.
 */
export function plannerAllowance(run: Run): (Allowance & { stop: Stop }) | undefined {
  const [first, ...rest] = bounds(run).map((bound) => ({
    ...bound,
    allowed: Math.max(bound.each, (bound.free - bound.each) / 2),
  }));
  if (first === undefined) return undefined;
  const all = [first, ...rest];
  const least = (limit: Bound['limit']) => {
    const allowed = all.filter((bound) => bound.limit === limit).map((bound) => bound.allowed);
    return allowed.length === 0 ? undefined : Math.min(...allowed);
  };
  const tokens = least('max_tokens');
  const cost_usd = least('max_cost_usd');
  const tightest = all.reduce((one, other) => (other.free / other.each < one.free / one.each ? other : one));
  return {
    ...(tokens === undefined ? {} : { tokens: Math.floor(tokens) }),
    ...(cost_usd === undefined ? {} : { cost_usd }),
    stop: stopOf(tightest, tightest.allowed),
  };
}

function stopOf({ scope, limit, maximum, free }: Bound, requested: number): Stop {
  return { scope, limit, maximum, used: round(maximum - free), requested: round(requested) };
}

/** Nobody spends what the tree does not have, not even on the last words. */
export function cannotAffordSynthesis(run: Run): boolean {
  const { tokens, cost_usd } = reservation(run);
  return (left(run, 'max_tokens') ?? tokens) < tokens || (left(run, 'max_cost_usd') ?? cost_usd) < cost_usd;
}

/** Counts of the tree, before a step or before a batch of so many tool calls and children. */
export function stopForCounts(
  run: Run,
  asked: { steps?: number; tool_calls?: number; children?: number },
): Stop | undefined {
  const tree = treeLimits(run);
  const want: [Countable, number][] = [
    // Each child needs one at least.
    ['max_steps', (asked.steps ?? 0) + (asked.children ?? 0)],
    ['max_tool_calls', asked.tool_calls ?? 0],
    ['max_children', asked.children ?? 0],
  ];
  for (const [limit, requested] of want) {
    const free = left(run, limit);
    const maximum = tree[limit];
    if (requested > 0 && free !== undefined && maximum !== undefined && free < requested) {
      return { scope: 'tree', limit, maximum, used: maximum - free, requested };
    }
  }
  const depth = (run.pinned?.spec.depth ?? 0) + 1;
  const deepest = Math.min(
    tree.max_depth ?? Number.POSITIVE_INFINITY,
    run.pinned?.spec.limits.run?.max_depth ?? Number.POSITIVE_INFINITY,
    MAX_DEPTH,
  );
  if ((asked.children ?? 0) > 0 && depth > deepest) {
    return { scope: 'tree', limit: 'max_depth', maximum: deepest, used: depth - 1, requested: 1 };
  }
  return undefined;
}

/** However the limits are set: ids grow with the depth, and a tree this deep is a mistake. */
const MAX_DEPTH = 10;

/** One lease for each child of a batch: equal shares of what is left, one share kept for the run itself. */
export function leaseOut(run: Run, callIds: readonly string[]): void {
  const held = reservation(run);
  const shares = callIds.length + 1;
  const tree = treeLimits(run);
  for (const name of COUNTABLE) {
    const free = left(run, name);
    if (free === undefined) continue;
    const heldBack = name === 'max_tokens' ? held.tokens : name === 'max_cost_usd' ? held.cost_usd : 0;
    // A child without a single step could only fail; `stopForCounts` has seen to it that there are enough.
    const least = name === 'max_steps' ? 1 : 0;
    const share = Math.max(least, Math.max(0, free - heldBack) / shares);
    for (const callId of callIds) {
      run.tree.leases[callId] = {
        ...run.tree.leases[callId],
        [name]: name === 'max_cost_usd' ? share : Math.floor(share),
      };
    }
  }
  const deadline = timeBudget(run);
  const { max_depth, max_consecutive_failed_tool_calls } = tree;
  for (const callId of callIds) {
    run.tree.leases[callId] = {
      ...run.tree.leases[callId],
      ...(max_depth === undefined ? {} : { max_depth }),
      ...(max_consecutive_failed_tool_calls === undefined ? {} : { max_consecutive_failed_tool_calls }),
      ...(deadline === undefined
        ? {}
        : { time_budget: Math.max(1, run.started_at + run.paused_ms + deadline - Date.now()) }),
    };
  }
}

/** The child has ended; `usage` is undefined when nobody saw its end. */
export function settleLease(run: Run, callId: string, usage: RunUsage | undefined): void {
  const lease = run.tree.leases[callId] ?? {};
  delete run.tree.leases[callId];
  run.tree.settled = addUsage(run.tree.settled, usage ?? fullLease(lease));
}

/** Of a child that never started. */
export function returnLease(run: Run, callId: string): void {
  if (run.tree.leases[callId] === undefined) return;
  delete run.tree.leases[callId];
  run.counters.usage.children = (run.counters.usage.children ?? 1) - 1;
}

function fullLease(lease: Limits): RunUsage {
  return {
    ...NO_USAGE,
    tool_calls: lease.max_tool_calls ?? 0,
    steps: lease.max_steps ?? 0,
    children: lease.max_children ?? 0,
    ...(lease.max_tokens === undefined ? {} : { charged_tokens: lease.max_tokens }),
    ...(lease.max_cost_usd === undefined ? {} : { charged_cost_usd: lease.max_cost_usd }),
  };
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
