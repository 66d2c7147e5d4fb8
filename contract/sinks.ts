/** What a run tells the worker that runs it. Types only. */

// A type, not an interface: proxySinks wants an index signature.
export type RunSinks = {
  perdure: {
    /**
     * The workflow task that is being worked on has appended this event. `task` is the number of the event with which
     * it began: by that the server's history tells whether the task was completed.
     */
    appended(runId: string, task: number, seq: number, text: string): void;
    /** The run cancels what it has under way: a cancel was asked for, whoever did, or its time is up. */
    interrupted(runId: string): void;
  };
};
