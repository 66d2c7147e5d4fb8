/** A call that fails for a reason that passes is made again, a little later each time. */

const MAX_ATTEMPTS = 10;
const [FIRST_MS, MOST_MS] = [30, 2_000];

export async function tryAgain<T>(call: () => Promise<T>, passes: (error: unknown) => boolean): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !passes(error)) throw error;
    }
    const most = Math.min(MOST_MS, FIRST_MS * 2 ** attempt);
    // Not all at the same time.
    await new Promise((resolve) => setTimeout(resolve, most / 2 + (Math.random() * most) / 2));
  }
}
