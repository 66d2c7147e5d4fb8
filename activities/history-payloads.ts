/** What a history holds, made plain: brought back from external storage, decrypted and decoded. */
import type { Context } from '@temporalio/activity';
import type { HistoryEvent } from '../live/history.js';
import { createPayloadReader } from '../store/read-payloads.js';

type Scheduled = NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>;
type Payloads = Scheduled['input'];

/** Undefined where there is none, or where it cannot be read here: then the workflow itself is asked. */
export type ReadPayload = <T extends object>(payloads: Payloads, index?: number) => Promise<T | undefined>;

export function historyPayloads({ workflow }: Context['client']): ReadPayload {
  const { payloadConverter, payloadCodecs, externalStorage } = workflow.options.loadedDataConverter;
  const read = createPayloadReader(externalStorage?.drivers ?? [], {
    async decode(payloads) {
      let plain = payloads;
      for (const codec of [...payloadCodecs].reverse()) plain = await codec.decode(plain);
      return plain;
    },
  });
  return async <T extends object>(payloads: Payloads, index = 0) => {
    const payload = payloads?.payloads?.[index];
    if (payload == null) return undefined;
    try {
      const [plain] = await read([payload]);
      const value = plain === undefined ? undefined : payloadConverter.fromPayload<T | null>(plain);
      return typeof value === 'object' && value !== null ? value : undefined;
    } catch {
      return undefined;
    }
  };
}
