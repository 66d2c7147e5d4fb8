/**
 * How a server calls the limit of an answer. OpenAI's name is `max_completion_tokens`; many compatible servers know
 * only the older `max_tokens`, and refuse the other one, or ignore it. Which of the two is found out once, and kept for
 * as long as the provider lives. OpenAI itself is never asked for another name.
 */
const NAMES = ['max_completion_tokens', 'max_tokens'] as const;
export type LimitName = (typeof NAMES)[number];

export interface LimitNames {
  name(): LimitName;
  /** What to send instead to a server that refuses this one; undefined: nothing. */
  other(sent: LimitName): LimitName | undefined;
  /** It was taken. */
  keep(name: LimitName): void;
  /** The answer was far longer: the older name may be the one that is known. */
  noteIgnored(sent: LimitName): void;
}

export function createLimitNames(given: LimitName | undefined, baseURL: string): LimitNames {
  const isKnown = given !== undefined || isOpenAI(baseURL);
  let name: LimitName = given ?? NAMES[0];
  return {
    name: () => name,
    other: (sent) => (isKnown ? undefined : NAMES.find((one) => one !== sent)),
    keep: (taken) => void (name = taken),
    noteIgnored(sent) {
      if (!isKnown && sent === NAMES[0]) name = NAMES[1];
    },
  };
}

function isOpenAI(baseURL: string): boolean {
  return URL.canParse(baseURL) && /(?:^|\.)openai\.com$/.test(new URL(baseURL).hostname);
}
