/** Who asks. */
export interface Principal {
  user_id: string;
  org_id: string;
  role: 'member' | 'admin';
  /** The stream profiles it may ask for; the first is its default. */
  profiles: readonly [string, ...string[]];
}
