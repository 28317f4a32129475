/** Signs in with the master key or a password. */
import { timingSafeEqual } from 'node:crypto'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type {
  Claim,
  Login,
  LoginService,
  PasswordChange,
  PasswordHashing,
  PasswordStore,
  RefusedSignIn,
  SignedIn,
  SignInService,
} from '../core/sign-in/sign-in.ts'
import type { SignInSettings } from '../core/sign-in/sign-in-settings.ts'
import type { SignInMethod } from '../core/sign-in/session.ts'
import type { TenancyReader } from '../core/tenancy/tenancy-store.ts'
import type { User } from '../core/tenancy/tenancy.ts'
import { asciiLower } from '../lib/text.ts'
import type { Clock } from '../lib/clock.ts'
import { LoginAttempts } from './login-attempts.ts'
import type { AdmittedAttempt, LoginAttempt } from './login-attempts.ts'
import { normalPassword, passwordProblem } from './password-strength.ts'
import { deviceCookie, knownDevice } from './device-cookie.ts'
import type { RefusalRecord } from './refusal-record.ts'

/** What a sign-in by password works with. */
export interface LoginParts {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly installation: { isMasterKey(text: string): boolean; sign(text: string): Buffer }
  readonly tenancy: Pick<TenancyReader, 'find' | 'usersByEmail'>
  readonly passwords: PasswordStore
  readonly hashing: PasswordHashing
  readonly signIn: SignInService
  settings(): SignInSettings
  readonly refusals: Pick<RefusalRecord, 'add'>
  /** For the log and the metrics: a sign-in was refused. */
  refused(refusal: RefusedSignIn): void
  /** For the log: the operator has signed in, which people should rarely have to. */
  operatorSignedIn(how: { readonly method: SignInMethod; readonly client: string; readonly session: string }): void
}

/** What was shown. */
interface Proof {
  readonly isRight: boolean
  /** Who was named; null = the operator, or there is no such user. */
  readonly user: User | null
  readonly method: SignInMethod
}

/** Over the stores of passwords and sessions. */
export function createLoginService(parts: LoginParts): LoginService {
  const gate = new Gate(parts)
  return {
    login: login => signInBy(login, gate, parts),
    claim: claim => claimLink(claim, gate, parts),
    setPassword: change => setPassword(change, gate, parts),
  }
}

/** Counts what is tried, and records what is refused. */
class Gate {
  readonly #parts: LoginParts
  readonly #attempts: LoginAttempts

  constructor(parts: LoginParts) {
    this.#parts = parts
    this.#attempts = new LoginAttempts(parts.clock)
  }

  /** Takes a try. Throws `rate-limited` where there is none left. */
  async enter(attempt: LoginAttempt): Promise<AdmittedAttempt> {
    const admission = this.#attempts.admit(attempt)
    if (admission.admitted) return admission
    const { retryAfterMs, isFirst } = admission
    // One row when it begins: a flood must not fill the audit log.
    if (isFirst)
      await this.refuse(attempt.account ?? '', { userId: null, reason: 'too-many', clientAddress: attempt.address })
    throw new GatewayError('rate-limited', 'too many failed sign-ins; wait, or use the browser of your last sign-in', {
      retryAfterMs,
    })
  }

  /** What was tried is no failure where it could not be checked. */
  async checked<T>(admission: AdmittedAttempt, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      admission.notChecked()
      throw thrown
    }
  }

  async refuse(account: string, refusal: RefusedSignIn): Promise<void> {
    this.#parts.refused(refusal)
    await this.#parts.refusals.add(account, refusal)
  }
}

async function signInBy(login: Login, gate: Gate, parts: LoginParts): Promise<SignedIn> {
  const { installation } = parts
  const { baseUrl } = parts.settings()
  const { request } = login
  const account = login.account.trim().toLowerCase()
  const { clientAddress } = request
  const device = knownDevice(request, account, { sign: installation.sign, baseUrl })
  const admission = await gate.enter({ account, address: clientAddress, device })
  const proof = operatorProof(login, parts) ?? (await gate.checked(admission, () => userProof(login, admission, parts)))
  const { user, method } = proof
  if (!proof.isRight || user?.blocked) {
    const reason = proof.isRight ? 'blocked' : 'wrong-password'
    await gate.refuse(account, { userId: user?.id ?? null, reason, clientAddress })
    throw new GatewayError('unauthenticated', 'the name or the password is wrong, or the user is blocked')
  }
  admission.succeeded()
  const { session, setCookie } = await parts.signIn.signIn({ userId: user?.id ?? null, method, request })
  if (!user) parts.operatorSignedIn({ method, client: clientAddress, session: session.id })
  return { session, cookies: [setCookie, deviceCookie(request, account, installation.sign, baseUrl)] }
}

async function claimLink({ token, password, request }: Claim, gate: Gate, parts: LoginParts): Promise<SignedIn> {
  const { passwords, hashing, tenancy, installation } = parts
  const { baseUrl } = parts.settings()
  const admission = await gate.enter({ account: undefined, address: request.clientAddress, device: undefined })
  const link = await passwords.findLink(token)
  const user = link && (await tenancy.find('user', link.userId))
  if (!user || user.blocked) throw goneLink()
  // The link was right: a password that is refused as weak does not count as a guess.
  admission.succeeded()
  checkPassword(password, user)
  // Claimed after the hashing, which takes long: of several at once one wins.
  if (!(await passwords.claimLink(token, await hashing.hash(password)))) throw goneLink()
  const { session, setCookie } = await parts.signIn.signIn({ userId: user.id, method: 'password', request })
  return { session, cookies: [setCookie, deviceCookie(request, user.id.toLowerCase(), installation.sign, baseUrl)] }
}

const goneLink = () =>
  new GatewayError('not-found', 'this link was used, withdrawn or is too old; ask an administrator for another')

async function setPassword(change: PasswordChange, gate: Gate, parts: LoginParts): Promise<void> {
  const { userId, password, current, actor, request, keepSessionId } = change
  const { tenancy, passwords, hashing } = parts
  const user = await tenancy.find('user', userId)
  if (!user) throw new GatewayError('not-found', 'there is no such user', { param: 'user_id' })
  checkPassword(password, user)
  if (current !== undefined) {
    const { clientAddress } = request
    // A stolen session must not be a way to guess the password.
    const admission = await gate.enter({ account: userId.toLowerCase(), address: clientAddress, device: undefined })
    const stored = () => passwords.passwordOf(userId)
    if (!(await gate.checked(admission, () => hashing.verify(current, admission, stored)))) {
      await gate.refuse(userId.toLowerCase(), { userId, reason: 'wrong-password', clientAddress })
      throw new GatewayError('forbidden', 'the present password is wrong, or there is none yet: ask for a link', {
        param: 'current_password',
      })
    }
    admission.succeeded()
  }
  await passwords.setPassword(userId, await hashing.hash(password), actor, keepSessionId)
}

/** Throws `unprocessable` for a password that is short or easily guessed. */
function checkPassword(password: string, { id, email, alias }: User): void {
  const problem = passwordProblem(password, [id, email, alias])
  if (problem !== undefined) throw unprocessable([{ loc: ['body', 'password'], msg: problem, type: 'invalid' }])
}

/** undefined = it is not the operator, or not with the right secret. */
function operatorProof({ account, password }: Login, { installation, settings }: LoginParts): Proof | undefined {
  const { operator, operatorName } = settings()
  const name = account.trim()
  if ((name === '' || name === operatorName) && installation.isMasterKey(password.trim()))
    return { isRight: true, user: null, method: 'master-key' }
  if (!operator || name !== operator.name) return undefined
  const digest = (text: string) => installation.sign(`operator ${normalPassword(text)}`)
  const isRight = timingSafeEqual(digest(password), digest(operator.password.reveal()))
  return isRight ? { isRight, user: null, method: 'password' } : undefined
}

/** Asks and takes as much where there is no such user, or none with a password. */
async function userProof(
  { account, password, request }: Login,
  { turn, network }: AdmittedAttempt,
  { tenancy, passwords, hashing }: LoginParts,
): Promise<Proof> {
  let user: User | undefined
  const isRight = await hashing.verify(password, { turn, network, isLeft: () => request.left }, async () => {
    user = await findUser(account.trim(), tenancy)
    const hash = await passwords.passwordOf(user?.id ?? account)
    return user && hash
  })
  return { isRight, user: user ?? null, method: 'password' }
}

/** By id or by address. An address that two users have names none of them. */
async function findUser(account: string, tenancy: LoginParts['tenancy']): Promise<User | undefined> {
  const byId = await tenancy.find('user', account)
  if (byId || !account.includes('@')) return byId
  // Addresses are stored in lower case.
  const found = await tenancy.usersByEmail(asciiLower(account))
  return found.length === 1 ? found[0] : undefined
}
