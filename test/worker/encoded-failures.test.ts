import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { PerdureError } from '../../contract/errors.js';
import { EARLY_EVENTS } from '../../contract/names.js';
import { storageErrorIn } from '../../contract/storage-errors.js';
import { failureConverter } from '../../worker/encoded-failures.js';

const written = (error: unknown) => failureConverter.errorToFailure(error, defaultPayloadConverter);

describe('a failure, with encryption keys', () => {
  it('has its text and stack, and those of its causes, in payloads only, and comes back whole', () => {
    const failure = written(new Error('a canary', { cause: new Error('a deeper canary') }));
    for (const each of [failure, failure.cause]) {
      expect(each).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
      expect(each?.encodedAttributes?.data?.length).toBeGreaterThan(10);
    }
    const error = failureConverter.failureToError(failure, defaultPayloadConverter);
    expect([error.message, (error.cause as Error).message]).toEqual(['a canary', 'a deeper canary']);
  });

  it('keeps its text where readers go by it: asked too early, or without a key', () => {
    expect(written(new Error(`${EARLY_EVENTS}: later`)).message).toBe(`${EARLY_EVENTS}: later`);
    const missing = new PerdureError('encryption_key_unknown', 'the encryption key "k1" is not known here');
    const { message } = written(missing);
    expect(message).toBe(missing.message);
    expect(storageErrorIn(message ?? '')).toMatchObject({
      code: 'encryption_key_unknown',
      message: `a worker says: ${message}`,
    });
    expect(storageErrorIn('something else')).toBeUndefined();
    expect(written(new PerdureError('internal', 'a canary')).message).toBe('Encoded failure');
  });
});
