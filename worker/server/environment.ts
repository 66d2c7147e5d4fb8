/** The one place of the embedded server that reads the environment, for callers that pass none. */
export const processEnvironment = (): NodeJS.ProcessEnv => process.env;
