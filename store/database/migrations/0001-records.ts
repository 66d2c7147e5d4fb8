/**
 * API keys, stored agents and feedback were files in the data folder. Gateways on several machines could not share
 * them, so they are tables from here on; `taken_over` remembers which files are in them already.
 */
import type { Migration } from './migration.js';

export const records: Migration = {
  number: 1,
  name: 'records',
  statements: () => [
    `create table schema_versions (
      version integer primary key,
      name text not null,
      applied_at text not null
    )`,
    `create table taken_over (
      mark text primary key,
      what text not null,
      taken_at text not null
    )`,
    `create table api_keys (
      id text primary key,
      hash text not null,
      org_id text not null,
      user_id text not null,
      role text not null,
      profiles text not null,
      roles text,
      scopes text,
      created_at text not null,
      revoked_at text
    )`,
    `create table stored_agents (
      agent_id text primary key,
      org_id text not null,
      name text not null,
      agent text not null,
      unique (org_id, name)
    )`,
    `create table feedback (
      feedback_id text primary key,
      org_id text not null,
      thread_id text not null,
      message_sequence_num integer not null,
      sentiment text not null,
      categories text not null,
      notes text,
      created text not null,
      created_by text not null,
      modified text not null,
      modified_by text not null
    )`,
    'create index feedback_by_thread on feedback (thread_id)',
  ],
};
