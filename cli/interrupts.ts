/** Ctrl-C, and what a supervisor sends: the first one asks, each further one insists. */

export interface Interrupts {
  /** What the next one does and what those after it do; replaces what was set before. */
  handle(ask: () => void, insist: () => void): void;
}

export function listenForInterrupts(): Interrupts {
  let handlers = { ask: () => {}, insist: () => {} };
  let asked = false;
  const onSignal = () => {
    const handler = asked ? handlers.insist : handlers.ask;
    asked = true;
    handler();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // The terminal is gone, which is not a wish to stop the run.
  process.on('SIGHUP', () => handlers.insist());
  return {
    handle(ask, insist) {
      handlers = { ask, insist };
      asked = false;
    },
  };
}
