/** Takes one line of progress for a person; the command prints it, tests collect it. */
export type Report = (line: string) => void;
