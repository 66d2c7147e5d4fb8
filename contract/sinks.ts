/** What a run tells the worker that runs it. Types only. */

// A type, not an interface: proxySinks wants an index signature.
export type RunSinks = {
  perdure: {
    /** The workflow task that is ending appended events from this `seq` on. */
    appended(runId: string, fromSeq: number): void;
    /**
     * The same for the task that ends the run, with the texts of its events: a closed run is out of the worker's
     * cache, and reading it by query would replay it all.
     */
    ended(runId: string, fromSeq: number, texts: string[]): void;
  };
};
