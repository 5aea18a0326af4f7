/**
 * Who may call POST /init. No agent-wide state and no clock in here: what is known goes in, the
 * verdict comes out.
 */

import { sameHash } from "./token_hash.ts";

export interface InitClaim {
  /** Whether the agent holds a token. */
  readonly hasCurrent: boolean;
  /** Whether the request brings that very token. */
  readonly matchesCurrent: boolean;
  /** SHA-512 of the token that the request brings; of the empty string when it brings none. */
  readonly givenHash: string;
}

/**
 * Whether the request may pass.
 *
 * @param mmdsHash `accessTokenHash` of MMDS, or null where there is none
 */
export function mayInit(claim: InitClaim, mmdsHash: string | null): boolean {
  if (claim.matchesCurrent) return true;
  if (mmdsHash === null) return !claim.hasCurrent;
  return sameHash(claim.givenHash, mmdsHash);
}
