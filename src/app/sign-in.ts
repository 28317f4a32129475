/** Connects what identifies callers and what signs them in. */
import type { CurrentConfiguration } from '../core/ports.ts'
import type { SignInMethod } from '../core/session.ts'
import type { SignInService } from '../core/sign-in.ts'
import { systemClock as clock } from '../lib/clock.ts'
import type { AdmissionParts } from '../policies/index.ts'
import { createSessionGuard } from '../sign-in/session-guard.ts'
import { createSignInService } from '../sign-in/sign-in-service.ts'
import { createAccessTokenVerifier } from '../store/sign-in/access-tokens.ts'
import { withDerivedKeys } from '../store/keys/derived-keys.ts'
import type { Store } from './store.ts'

/** What the policy that identifies works with. */
export function identityParts(
  store: Store,
  current: CurrentConfiguration,
): Pick<AdmissionParts, 'keys' | 'installation' | 'sessions' | 'tokens' | 'baseUrl'> {
  const { directory, installation, sessions } = store
  return {
    keys: withDerivedKeys(directory, installation.sign),
    installation,
    sessions: createSessionGuard({ sessions, clock, credentialOf: operatorCredential(store) }),
    tokens: [
      createAccessTokenVerifier({
        sign: installation.sign,
        signIns: store.deviceSignIns,
        clock,
        lifetimeMs: () => current.settings.agents.accessTokenMs,
      }),
    ],
    baseUrl: () => current.settings.signIn.baseUrl,
  }
}

/** Begins and ends sessions. */
export function createSignIn(store: Store, current: CurrentConfiguration): SignInService {
  return createSignInService({
    sessions: store.sessions,
    keys: store.directory,
    settings: () => current.settings.signIn,
    credentialOf: operatorCredential(store),
  })
}

/** What the operator would sign in with now: another master key ends the sessions of the one before. */
const operatorCredential =
  ({ installation }: Store) =>
  (method: SignInMethod): string | null =>
    method === 'master-key' ? installation.masterKeyName() : null
