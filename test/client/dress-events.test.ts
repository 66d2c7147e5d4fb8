import { expect, it } from 'vitest';
import { PerdureError } from '../../contract/errors.js';
import type { DurableEvent } from '../../contract/events.js';
import { PROFILES } from '../../contract/profiles.js';
import { dressFor } from '../../client/dress-events.js';

it('a picture that cannot be read is left out, told to the operator, and the event is there', async () => {
  const gone = () => Promise.reject(new PerdureError('storage_unreachable', 'the bucket is away'));
  const place = { info: gone, read: gone } as never;
  const told: unknown[] = [];
  const dress = dressFor('agent_events', PROFILES.agent_debug, {
    links: undefined,
    org: 'acme',
    artefacts: { of: () => place, unscoped: place },
    failed: (runId, error) => told.push([runId, (error as PerdureError).code]),
  });
  const picture = { type: 'image_url', image_url: { url: 'artefact:abc' } };
  const event = { type: 'tool_result', run_id: 'one', content: [picture] } as unknown as DurableEvent;
  expect(await dress(event)).toEqual(event);
  expect(told).toEqual([['one', 'storage_unreachable']]);
});
