/** An agent: instructions, tools, limits and the model profile it thinks with. */
import type { z } from 'zod';
import type { RunLimits } from '../contract/limits.js';
import type { Tool } from './define-tool.js';

export interface AgentOptions {
  /** `service.agent` */
  agent_id: string;
  description?: string;
  instructions: string;
  /** A key of the configuration's `models`; its default one if absent. */
  model?: string;
  tools?: Tool[];
  limits?: z.input<typeof RunLimits>;
  /** A last model call without tools writes the answer. */
  synthesis?: boolean;
}

export interface Agent {
  readonly kind: 'agent';
  readonly options: AgentOptions;
}

export function defineAgent(options: AgentOptions): Agent {
  return { kind: 'agent', options };
}
