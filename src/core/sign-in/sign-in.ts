/** How persons sign in: sessions of browsers, tokens of identity providers, and what both end in. */
import type { AuthFailureReason } from './auth-failure.ts'
import type { Session, SignInMethod } from './session.ts'
import type { Page, PageQuery } from '../tenancy/tenancy-store.ts'
import type { ChangeActor } from '../tenancy/change-actor.ts'

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
  revoke(id: string, actor: ChangeActor, owner?: SessionOwner): Promise<boolean>
  /** Ends all of an owner but one; resolves with their number. Writes an audit row for each. */
  revokeAllOf(owner: SessionOwner, actor: ChangeActor, exceptId?: string): Promise<number>
  /** Keeps the moment of its last use, which moves its idle end. */
  touch(session: Session, nowMs: number): Promise<void>
}

/** Finds out whether a session still counts, and keeps it alive. */
export interface SessionGuard {
  /** At once unless the database has to be asked; then it may reject with `overloaded`. */
  check(session: Session): boolean | Promise<boolean>
}

interface AnyToken {
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number
  /** It may call models and read, and manages nothing, though its user may. Absent = it may what its user may. */
  readonly callsOnly?: true
}

/** A token that stands for a user. */
export interface UserToken extends AnyToken {
  readonly serviceAccount?: undefined
  readonly userId: string
  /** The team whose limits, models and budget hold, as with a key in it. */
  readonly teamId?: string | undefined
  /** The user must be a member of the team; absent = the configuration maps the token to it. */
  readonly asMember?: true
}

/** A token of a machine, which stands for a service account of a team. */
export interface ServiceAccountToken extends AnyToken {
  /** Its name in the configuration. */
  readonly serviceAccount: string
  readonly teamId: string
}

/** Who a token of an identity provider, or of the gateway itself, stands for. */
export type VerifiedToken = UserToken | ServiceAccountToken

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
  /** The user of the browser's session; null = it has none, or the operator's. */
  userOf(request: SignInRequest): Promise<string | null>
  /** Ends the session of the browser's cookie. `setCookie` removes the cookie; `userId` null = it was no user's. */
  signOut(request: SignInRequest): Promise<{ readonly userId: string | null; readonly setCookie: string }>
}

/** A link by which a user sets a password, once. Moments are milliseconds since 1970. */
export interface PasswordLink {
  readonly id: string
  readonly userId: string
  readonly createdAtMs: number
  readonly createdBy: string
  readonly endMs: number
}

/** A sign-in that was refused, for the audit log. */
export interface RefusedSignIn {
  /** null = there is no such user, or the operator was meant. */
  readonly userId: string | null
  readonly reason: Extract<AuthFailureReason, 'wrong-password' | 'blocked' | 'too-many'>
  readonly clientAddress: string
  /** It stands for so many of the last minute; some of their addresses. */
  readonly further?: { readonly count: number; readonly addresses: readonly string[] }
}

/**
 * Passwords of users, as argon2id hashes, and the links by which they are set. Every method throws `overloaded` when
 * the database is unreachable. No hash and no token ever stands in the audit log.
 */
export interface PasswordStore {
  /** The hash; undefined = the user has no password. */
  passwordOf(userId: string): Promise<string | undefined>
  /** Ends the user's sessions but one, and withdraws the links. */
  setPassword(userId: string, hash: string, actor: ChangeActor, keepSessionId?: string): Promise<void>
  /**
   * In place of the user's links of before, unless it `keepsOthers`: a stranger who asks for one must not end those
   * that an administrator has made. `token` is not stored.
   */
  createLink(
    link: { readonly userId: string; readonly lifetimeMs: number; readonly keepsOthers?: boolean },
    actor: ChangeActor,
  ): Promise<{ readonly link: PasswordLink; readonly token: string }>
  /** undefined = there is none that may still be used. */
  findLink(token: string): Promise<PasswordLink | undefined>
  /** Uses it: sets the password. undefined = it was used, withdrawn, or is too old. */
  claimLink(token: string, hash: string): Promise<PasswordLink | undefined>
  /** false = there is no such link. */
  withdrawLink(id: string, actor: ChangeActor): Promise<boolean>
  /** All in one commit. */
  recordRefusals(refused: readonly RefusedSignIn[]): Promise<void>
}

/**
 * Whose password is checked first: that of a browser or an address that has signed in to the account before, then of an
 * address that comes again as it was asked to, then of one that has not failed lately, then of the others.
 */
export type Turn = 'known' | 'returning' | 'first-try' | 'other'

/** Who waits for a password to be checked. */
export interface WaitingForPassword {
  readonly turn: Turn
  /** Of the client, as limits name it. */
  readonly network: string
  /** true = the client has gone: the answer cannot be delivered. */
  isLeft?(): boolean
}

/** Hashes passwords, a few at a time, so that a flood of them leaves the processor to calls. */
export interface PasswordHashing {
  /** Throws `rate-limited` when too many wait. */
  hash(password: string): Promise<string>
  /**
   * `stored` is asked for the hash when it is its turn. As long for a user without a password (undefined), who never
   * has the right one. Throws `rate-limited` when too many wait.
   */
  verify(password: string, waiting: WaitingForPassword, stored: () => Promise<string | undefined>): Promise<boolean>
}

/** A name and a password, as a browser or a program sends them. */
export interface Login {
  /** Id or e-mail address of a user, or the operator's name. */
  readonly account: string
  readonly password: string
  readonly request: SignInRequest & { readonly left: boolean }
}

/** A session that has begun; `cookies` are values of `set-cookie`. */
export interface SignedIn {
  readonly session: Session
  readonly cookies: readonly string[]
}

/** A password that a user sets by a link. */
export interface Claim {
  readonly token: string
  readonly password: string
  readonly request: SignInRequest
}

/** A password that is set by its user or an administrator. */
export interface PasswordChange {
  readonly userId: string
  readonly password: string
  /** What the user says is the present one; undefined = an administrator sets it. */
  readonly current: string | undefined
  readonly actor: ChangeActor
  readonly request: SignInRequest
  /** Goes on; all other sessions of the user end. */
  readonly keepSessionId: string | undefined
}

/** Signs in with the master key or a password, and sets passwords. */
export interface LoginService {
  /**
   * Begins a session. Throws `unauthenticated`, alike for unknown users and wrong passwords; `rate-limited` after too
   * many failures and while too many wait; `overloaded`, and `forbidden` as `SignInService.signIn`.
   */
  login(login: Login): Promise<SignedIn>
  /**
   * Sets a password by a link, and begins a session. Throws `not-found` for a link that was used, withdrawn or is too
   * old, `unprocessable` for a password that is too weak, and as `login`.
   */
  claim(claim: Claim): Promise<SignedIn>
  /**
   * Sets a user's password; with `current` only if that is the present one. Throws `forbidden` where it is not,
   * `unprocessable` for a password that is too weak, `rate-limited` after too many failures.
   */
  setPassword(change: PasswordChange): Promise<void>
}
