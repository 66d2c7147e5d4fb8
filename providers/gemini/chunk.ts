/** A chunk of a generateContent stream: only what we read, and nullish. */
import { z } from 'zod';

const Count = z.number().nullish();
const ByModality = z.array(z.object({ modality: z.string().nullish(), tokenCount: Count })).nullish();

const UsageReply = z.object({
  promptTokenCount: Count,
  toolUsePromptTokenCount: Count,
  cachedContentTokenCount: Count,
  candidatesTokenCount: Count,
  thoughtsTokenCount: Count,
  totalTokenCount: Count,
  promptTokensDetails: ByModality,
});
export type UsageReply = z.infer<typeof UsageReply>;

const Part = z.object({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  thoughtSignature: z.string().nullish(),
  functionCall: z
    .object({ id: z.string().nullish(), name: z.string().nullish(), args: z.record(z.string(), z.unknown()).nullish() })
    .nullish(),
});
export type Part = z.infer<typeof Part>;

const Candidate = z.object({
  index: z.number().nullish(),
  content: z.object({ parts: z.array(Part).nullish() }).nullish(),
  finishReason: z.string().nullish(),
});

export const Chunk = z.object({
  responseId: z.string().nullish(),
  modelVersion: z.string().nullish(),
  candidates: z.array(Candidate).nullish(),
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
  usageMetadata: UsageReply.nullish(),
});
export type Chunk = z.infer<typeof Chunk>;
