/** How programs sign in for a person: the device flow of RFC 8628, and the tokens that follow from it. */
import type { ChangeActor } from '../tenancy/change-actor.ts'

/** The program that asks, as the person who approves it sees it. */
export interface AskingDevice {
  /** Its `user-agent`, at most 200 characters. */
  readonly client: string
  readonly clientAddress: string
}

/** A program waits for a person to approve its code. Moments are milliseconds since 1970. */
export interface DeviceGrant extends AskingDevice {
  /** As the person types it: `WDJB-MJHT`. */
  readonly userCode: string
  readonly createdAtMs: number
  readonly endMs: number
}

/** For whom a program signs in. */
export interface DeviceOwner {
  readonly userId: string
  /** The team that is charged; null = none. */
  readonly teamId: string | null
}

/** The answer to a program that asks whether its code was approved. `approved` is given once. */
export type GrantState =
  | { readonly state: 'pending' | 'denied' | 'gone' }
  | ({ readonly state: 'approved' } & DeviceOwner & AskingDevice)

/** One refresh: which token was shown, and the rules. */
export interface RefreshAttempt {
  readonly signInId: string
  /** The how-many-th token of the sign-in. */
  readonly count: number
  /** So long after a refresh the token of before is answered as at first: its answer may have been lost. */
  readonly graceMs: number
  /** `end` = a token that was used before ends the sign-in; `refuse` = it is refused alone. */
  readonly reuse: 'end' | 'refuse'
}

/** `count` = of the refresh token that is valid from now on. */
export type RefreshOutcome =
  | ({ readonly state: 'refreshed'; readonly count: number } & DeviceOwner)
  | { readonly state: 'ended' }
  | { readonly state: 'reused'; readonly userId: string }

/**
 * Codes that wait for approval, and the sign-ins of programs, which are sessions of the method `device`. Every method
 * throws `overloaded` when the database is unreachable; what ends does so in all replicas within a second.
 */
export interface DeviceSignInStore {
  /** Throws `overloaded` when too many codes wait. */
  ask(grant: DeviceGrant & { readonly deviceCodeHash: string }): Promise<void>
  /** undefined = no such code waits. */
  waiting(userCode: string): Promise<DeviceGrant | undefined>
  /** Approves a code for an owner, or denies it (null). false = no such code waits. Writes an audit row. */
  decide(userCode: string, owner: DeviceOwner | null, actor: ChangeActor): Promise<boolean>
  /** What became of a code. One that was approved is gone afterwards. */
  take(deviceCodeHash: string): Promise<GrantState>
  /** The session `signInId` is that of a program. */
  begin(signInId: string, owner: DeviceOwner): Promise<void>
  /** Takes the next refresh token in place of the one that is shown. Writes an audit row for a token that was used. */
  refresh(attempt: RefreshAttempt): Promise<RefreshOutcome>
  /** The sign-in has not ended, and its user still is in its team. At once where it is known. */
  isLive(signInId: string): boolean | Promise<boolean>
}
