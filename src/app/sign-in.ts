/** Connects what identifies callers and what signs them in. */
import { CryptoHasher } from 'bun'
import { checkStandingOfCalls } from '../access/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { AuthFailure } from '../core/sign-in/auth-failure.ts'
import type { Services } from '../core/endpoint.ts'
import type { SingleSignOn } from '../core/sign-in/identity-providers.ts'
import type { CurrentConfiguration } from '../core/model-directory.ts'
import type { SignInMethod } from '../core/sign-in/session.ts'
import type { Transport } from '../core/transport.ts'
import { HeadOfRequest } from '../endpoints/common/request-heads.ts'
import { systemClock as clock } from '../lib/clock.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { identify } from '../policies/identify.ts'
import type { AdmissionParts } from '../policies/index.ts'
import { requireRole } from '../policies/require-role.ts'
import { providerFetch } from '../sign-in/identity/provider-fetch.ts'
import type { ProviderFetch } from '../sign-in/identity/provider-fetch.ts'
import { createSingleSignOn } from '../sign-in/identity/single-sign-on.ts'
import { IdentityTokenVerifier } from '../sign-in/identity/token-verifier.ts'
import { createLoginService } from '../sign-in/login.ts'
import { createPasswordHashing } from '../sign-in/password-hashing.ts'
import { RefusalRecord } from '../sign-in/refusal-record.ts'
import { createSessionGuard } from '../sign-in/session-guard.ts'
import { createSignInService } from '../sign-in/sign-in-service.ts'
import { createAccessTokenVerifier } from '../store/sign-in/access-tokens.ts'
import { tenantSubject } from '../store/tenancy/changes.ts'
import { withDerivedKeys } from '../store/keys/derived-keys.ts'
import { AuthFailureLog, signInMessages } from '../telemetry/auth-failures.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Store } from './store.ts'

/** What the policy that identifies works with. */
export function identityParts(
  store: Store,
  current: CurrentConfiguration,
  transport: Transport,
): Pick<AdmissionParts, 'keys' | 'installation' | 'sessions' | 'tokens' | 'baseUrl' | 'keyRotation'> {
  const { directory, installation, sessions } = store
  const identityTokens = new IdentityTokenVerifier({
    settings: () => current.settings,
    tenancy: store.tenancy,
    fetch: fetchOf(current, transport),
    clock,
    subjectOf: userId => tenantSubject('user', userId),
  })
  store.followTenancy(subjects => identityTokens.drop(subjects))
  return {
    keys: withDerivedKeys(directory, installation.sign),
    installation,
    sessions: createSessionGuard({ sessions, clock, credentialOf: operatorCredential(store, current) }),
    tokens: [
      createAccessTokenVerifier({
        sign: installation.sign,
        signIns: store.deviceSignIns,
        clock,
        lifetimeMs: () => current.settings.agents.accessTokenMs,
      }),
      identityTokens,
    ],
    baseUrl: () => current.settings.signIn.baseUrl,
    keyRotation: () => current.settings.keyRotation,
  }
}

/** Counts refused requests, and writes them into the log. */
export function createRefusalReporter(
  timers: TimerWheel,
  logger: Logger,
  count: SignInParts['countRefusal'],
): (failure: AuthFailure) => void {
  const lines = new AuthFailureLog(timers, logger)
  return failure => {
    count(failure.reason)
    lines.add(failure)
  }
}

/** Asks the policies of a request's head once more; nothing is counted. */
export function createReadmission(parts: ReturnType<typeof identityParts>): Pick<Services, 'admitAgain' | 'confirm'> {
  const [identifying, role] = [identify({ ...parts, clock, refused: () => {} }), requireRole()]
  const admitAgain: Services['admitAgain'] = (request, endpoint) => {
    const head = new HeadOfRequest(request, endpoint)
    const identified = identifying.admit(head)
    const judged = (): Caller => {
      void role.admit(head)
      return head.caller!
    }
    return identified ? identified.then(judged) : judged()
  }
  return {
    admitAgain,
    confirm(admitted, request, endpoint) {
      const check = (present: Caller): void => checkStandingOfCalls(admitted, present, clock.epochMs())
      const present = admitAgain(request, endpoint)
      return present instanceof Promise ? present.then(check) : check(present)
    },
  }
}

interface SignInParts {
  readonly store: Store
  readonly current: CurrentConfiguration
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly logger: Logger
  /** Counts a refusal. */
  countRefusal(reason: AuthFailure['reason']): void
}

/** What endpoints sign persons in with; `flush` writes what is kept for the audit log. */
export function signInServices(parts: SignInParts): {
  readonly services: Pick<Services, 'signIn' | 'login' | 'singleSignOn'>
  flush(): Promise<void>
} {
  const { store, current, transport, timers } = parts
  const refusals = new RefusalRecord(timers, store.passwords)
  const singleSignOn = openSingleSignOn(store, current, transport)
  return { services: { ...createSignIn(parts, refusals), singleSignOn }, flush: () => refusals.flush() }
}

function openSingleSignOn(store: Store, current: CurrentConfiguration, transport: Transport): SingleSignOn {
  return createSingleSignOn({
    settings: () => current.settings,
    tenancy: store.tenancy,
    returns: store.signInReturns,
    fetch: fetchOf(current, transport),
    clock,
    sign: store.installation.sign,
  })
}

function fetchOf(current: CurrentConfiguration, transport: Transport): ProviderFetch {
  return providerFetch(transport, () => current.settings.identity.proxies)
}

function createSignIn(parts: SignInParts, refusals: RefusalRecord): Pick<Services, 'signIn' | 'login'> {
  const { store, current, timers, logger, countRefusal } = parts
  const settings = () => current.settings.signIn
  const { installation, tenancy, sessions, passwords, directory } = store
  const credentialOf = operatorCredential(store, current)
  const signIn = createSignInService({ sessions, keys: directory, settings, credentialOf })
  const lines = new AuthFailureLog(timers, logger, signInMessages)
  const login = createLoginService({
    clock,
    installation,
    tenancy,
    passwords,
    hashing: createPasswordHashing(),
    signIn,
    settings,
    refusals,
    refused({ reason, clientAddress, userId }) {
      countRefusal(reason)
      lines.add({ reason, clientAddress, keyId: userId === null ? undefined : `user:${userId}` })
    },
    operatorSignedIn: how =>
      logger.warn('the operator signed in without a user of their own; use that for emergencies', { ...how }),
  })
  return { signIn, login }
}

/** Names what the operator would sign in with now: another master key or password ends the sessions of before. */
function operatorCredential({ installation }: Store, current: CurrentConfiguration) {
  return (method: SignInMethod): string | null => {
    if (method === 'master-key') return installation.masterKeyName()
    const { operator } = current.settings.signIn
    if (!operator) return null
    const text = `operator ${operator.name} ${operator.password.reveal()}`
    return new CryptoHasher('sha256').update(installation.sign(text)).digest('hex')
  }
}
