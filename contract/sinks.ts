/** What a run tells the worker that runs it. Types only. */

// A type, not an interface: proxySinks wants an index signature.
export type RunSinks = {
  perdure: {
    /** The workflow task that is ending appended events from this `seq` on. */
    appended(runId: string, fromSeq: number): void;
  };
};
