/** The package that talks to Redis is loaded where Redis is configured. Others need not have it. */
import { createRequire } from 'node:module';
import type * as Driver from 'ioredis';
import { PerdureError } from '../../contract/errors.js';

const require = createRequire(import.meta.url);

export function loadDriver(): typeof Driver {
  try {
    return require('ioredis') as typeof Driver;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new PerdureError(
      'invalid_config',
      'a Redis is configured, and the package ioredis, which talks to it, is not installed: type "npm install ioredis@6"',
      { cause: error },
    );
  }
}
