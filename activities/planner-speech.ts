/**
 * What one step of a planner says: the answers of its model calls as they come, and its own words after them.
 *
 * S1  Every stretch has a block of its own, however many calls are made, one after another or at once.
 * S2  Whatever was shown is what `close` gives, whole or as far as it came, and nothing more is shown after it: so every
 *     block is closed when the step is committed.
 */
import type { ChatInvokeCompletion } from '../contract/completion.js';
import type { AssistantMessage, BaseMessage } from '../contract/messages.js';
import type { ModelStreamPart } from '../contract/model-provider.js';
import { createAssembler } from '../providers/index.js';
import type { ModelSession } from './model-session.js';
import { createPartPublisher } from './publish-part.js';

export interface SpokenCall {
  add(part: ModelStreamPart): void;
  /** All that has come. */
  completion(): ChatInvokeCompletion;
  /** It is over, and it is whole. */
  end(): void;
}

export interface PlannerSpeech {
  /** A model call begins; one that is not shown is said only if it turns out to be the decision. */
  open(isShown: boolean): SpokenCall;
  /** Says a completion of this step that was not shown. */
  show(completion: ChatInvokeCompletion): void;
  /** The planner's own words, unless the last call said just that. */
  say(text: string): void;
  /** All that was said. */
  close(): BaseMessage[];
}

interface Spoken {
  messages(): BaseMessage[];
}

export function openSpeech({ live, input, spec, attempt }: ModelSession): PlannerSpeech {
  const publish = createPartPublisher(live, input, spec, attempt);
  const spoken: Spoken[] = [];
  let blocks = 0;
  let inputs = 0;
  let isOver = false;

  /** Numbers in the step, for numbers in one call. */
  function numbering(next: () => number): (own: number) => number {
    const known = new Map<number, number>();
    return (own) => {
      const number = known.get(own) ?? next();
      known.set(own, number);
      return number;
    };
  }

  function shown(messages: readonly BaseMessage[], blockOf: (own: number) => number, isWhole: boolean): BaseMessage[] {
    return messages.map((message, n) => {
      const own = (message.meta as { block?: number } | undefined)?.block ?? -n;
      const meta = { block: blockOf(own), ...(isWhole ? {} : { interrupted: true }) };
      return { ...message, meta };
    });
  }

  return {
    open(isShown) {
      const assembler = createAssembler();
      if (!isShown) {
        return { add: (part) => void assembler.add(part), completion: () => assembler.completion(), end: () => {} };
      }
      const blockOf = numbering(() => ++blocks);
      const inputOf = numbering(() => inputs++);
      let isWhole = false;
      spoken.push({ messages: () => shown(assembler.completion().messages, blockOf, isWhole) });
      return {
        add(part) {
          if (isOver) return;
          const delta = assembler.add(part);
          if (part.type === 'tool_call') publish({ ...part, index: inputOf(part.index) }, undefined);
          else publish(part, delta === undefined ? undefined : { ...delta, n: blockOf(delta.n) });
        },
        completion: () => assembler.completion(),
        end() {
          isWhole = true;
        },
      };
    },
    show({ messages }) {
      const placed = shown(
        messages,
        numbering(() => ++blocks),
        true,
      );
      for (const message of placed) if (message.role === 'assistant') publishText(message);
      spoken.push({ messages: () => placed });
    },
    say(text) {
      if (text === '' || textOf(spoken.at(-1)?.messages() ?? []) === text) return;
      const message: AssistantMessage = { role: 'assistant', content: text, meta: { block: ++blocks } };
      publishText(message);
      spoken.push({ messages: () => [message] });
    },
    close() {
      isOver = true;
      return spoken.flatMap((one) => one.messages());
    },
  };

  function publishText(message: AssistantMessage): void {
    const { block: n } = message.meta as { block: number };
    const delta = textOf([message]);
    if (delta !== '') publish({ type: 'text', delta }, { kind: 'text', n, opened: true, index: 0 });
  }
}

/** What was said in words. */
export function textOf(messages: readonly BaseMessage[]): string {
  return messages
    .map((message) => (message.role === 'assistant' ? message.content || message.refusal || '' : ''))
    .join('');
}
