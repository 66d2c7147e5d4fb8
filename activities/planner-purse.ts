/** What a planner may spend on its model calls: each is reserved before it is made, and settled at what it used. */
import type { Allowance } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import type { ChatInvokeUsage } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { ModelRequest } from '../contract/model-provider.js';
import { costOf, reservationOf } from '../contract/reservation.js';

interface Purse {
  /** Throws where the call does not fit. A call that reports no usage stays at what was reserved. */
  reserve(request: ModelRequest): (usage: ChatInvokeUsage | null | undefined) => void;
}

export function openPurse(allowance: Allowance | undefined, model: AgentSpec['model'], runId: string): Purse {
  const spent = { tokens: 0, cost_usd: 0 };
  const most = { tokens: allowance?.tokens ?? Infinity, cost_usd: allowance?.cost_usd ?? Infinity };
  return {
    reserve({ messages, tools }) {
      const asked = reservationOf(model, JSON.stringify(messages).length + JSON.stringify(tools).length);
      for (const unit of ['tokens', 'cost_usd'] as const) {
        if (spent[unit] + asked[unit] <= most[unit]) continue;
        const what = `the planner of run ${runId} asks for a model call of up to ${asked[unit]} ${unit}, and has used ${spent[unit]} of the ${most[unit]} that its limits leave it in this step`;
        throw new PerdureError('budget_exhausted', what);
      }
      spent.tokens += asked.tokens;
      spent.cost_usd += asked.cost_usd;
      return (usage) => {
        if (!usage) return;
        spent.tokens += usage.total_tokens - asked.tokens;
        spent.cost_usd += costOf(model.price, usage) - asked.cost_usd;
      };
    },
  };
}
