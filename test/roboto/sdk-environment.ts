/** The published Python SDK of the threads API, in an environment per version. */
import { findOrMakePython } from '../support/python-environment.js';

export { INSTALL_TIMEOUT_MS } from '../support/python-environment.js';

/** Of the seed's age, and the newest. */
export const SDK_VERSIONS = ['0.47.0', '0.62.0'] as const;
export type SdkVersion = (typeof SDK_VERSIONS)[number];

const made = new Map<SdkVersion, Promise<string>>();

/** The interpreter that has the SDK. */
export function sdkPython(version: SdkVersion): Promise<string> {
  const known = made.get(version) ?? findOrMakeSdk(version, process.env);
  made.set(version, known);
  return known;
}

export function findOrMakeSdk(version: SdkVersion, env: NodeJS.ProcessEnv): Promise<string> {
  return findOrMakePython({ name: 'roboto', version, installs: [[`roboto==${version}`]] }, env);
}
