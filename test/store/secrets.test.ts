/** Secrets that gateways share. */
import { beforeEach, expect, it } from 'vitest';
import { createSecrets } from '../../store/secrets.js';
import { onBothDatabases } from './databases.js';
import type { Place } from './databases.js';

onBothDatabases('a secret', (fresh) => {
  let place: Place;
  beforeEach(async () => {
    place = await fresh();
  });

  it('is made once, by whoever asks first, and is the same for all', async () => {
    const [one, other] = [await place.open(), await place.open()];
    const asked = await Promise.all(
      [one, other, one, other].map((database) => createSecrets(database).of('file_urls')),
    );
    expect(new Set(asked.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(1);
    expect(asked[0]?.length).toBe(32);
  });

  it('that was shortened by hand signs nothing', async () => {
    const database = await place.open();
    await createSecrets(database).of('file_urls');
    await database.query.updateTable('secrets').set({ secret: 'short' }).execute();
    await expect(createSecrets(database).of('file_urls')).rejects.toThrow(/shorter than 32 bytes/);
  });
});
