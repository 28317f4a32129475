/** How persons sign in: sessions of browsers, tokens of identity providers, and what both end in. */
import type { Session, SignInMethod } from './session.ts'
import type { Page, PageQuery } from './tenancy-store.ts'
import type { Actor } from './tenancy.ts'

/** A session that begins. */
export interface NewSession extends Pick<Session, 'userId' | 'method' | 'credential' | 'userAgent' | 'clientAddress'> {
  readonly idleMs: number
  readonly lifetimeMs: number
}

/** Whose sessions: a user's, or those of the operator (null). */
export type SessionOwner = Pick<Session, 'userId'>

/**
 * Sessions in the database. Every method throws `overloaded` when it is unreachable. What is revoked ends in all
 * replicas within a second.
 */
export interface SessionStore {
  /**
   * `secret` is the value of the cookie, which is not stored. The owner's oldest sessions end when there are too many.
   * Writes the audit row `signed-in`.
   */
  create(session: NewSession): Promise<{ readonly session: Session; readonly secret: string }>
  /** undefined = there is none, or it has ended. */
  find(hash: string): Promise<Session | undefined>
  /** Those that have not ended, newest first; absent owner = all. */
  list(owner: SessionOwner | undefined, page: PageQuery): Promise<Page<Session>>
  /** Ends one, of this owner where one is given. false = there is none. Writes the audit row `signed-out`. */
  revoke(id: string, actor: Actor, owner?: SessionOwner): Promise<boolean>
  /** Ends all of an owner but one; resolves with their number. Writes an audit row for each. */
  revokeAllOf(owner: SessionOwner, actor: Actor, exceptId?: string): Promise<number>
  /** Keeps the moment of its last use, which moves its idle end. */
  touch(session: Session, nowMs: number): Promise<void>
}

/** Tells whether a session still counts, and keeps it alive. */
export interface SessionGuard {
  /** At once unless the database has to be asked; then it may reject with `overloaded`. */
  check(session: Session): boolean | Promise<boolean>
}

/** Who a token of an identity provider, or of the gateway itself, stands for. */
export interface VerifiedToken {
  readonly userId: string
  /** The team whose limits, models and budget hold, as with a key in it. */
  readonly teamId?: string | undefined
  /** The user must be a member of the team; absent = the configuration maps the token to it. */
  readonly asMember?: true
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number
  /** It may call models and read, and manages nothing, though its user may. Absent = it may what its user may. */
  readonly callsOnly?: true
}

/** Verifies bearer tokens of one kind (JWT). */
export interface TokenVerifier {
  /**
   * undefined = the token is not of its issuer. At once where the token is known. Throws `unauthenticated`, with a
   * sentence that helps an administrator, for a token of its issuer that does not hold.
   */
  verify(token: string): VerifiedToken | undefined | Promise<VerifiedToken | undefined>
}

/** What is known of the browser that signs in. */
export interface SignInRequest {
  readonly headers: { get(name: string): string | null }
  readonly clientAddress: string
}

/** Who has proved who they are, and how. */
export interface SignIn {
  /** null = the operator. */
  readonly userId: string | null
  readonly method: SignInMethod
  readonly request: SignInRequest
}

/** Begins and ends sessions. */
export interface SignInService {
  /**
   * Begins a session, in place of the one that the browser had. Throws `forbidden` over plain http from elsewhere than
   * this machine, and `overloaded` when the database is unreachable.
   */
  signIn(signIn: SignIn): Promise<{ readonly session: Session; readonly setCookie: string }>
  /** Ends the session of the browser's cookie. `setCookie` removes the cookie; `userId` null = it was no user's. */
  signOut(request: SignInRequest): Promise<{ readonly userId: string | null; readonly setCookie: string }>
}
