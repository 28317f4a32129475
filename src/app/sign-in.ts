/** Connects what identifies callers and what signs them in. */
import type { Services } from '../core/endpoint.ts'
import type { SingleSignOn } from '../core/identity-providers.ts'
import type { CurrentConfiguration } from '../core/ports.ts'
import type { SignInMethod } from '../core/session.ts'
import type { SignInService } from '../core/sign-in.ts'
import type { Transport } from '../core/transport.ts'
import { systemClock as clock } from '../lib/clock.ts'
import type { AdmissionParts } from '../policies/index.ts'
import { providerFetch } from '../sign-in/identity/provider-fetch.ts'
import type { ProviderFetch } from '../sign-in/identity/provider-fetch.ts'
import { createSingleSignOn } from '../sign-in/identity/single-sign-on.ts'
import { createTokenVerifier } from '../sign-in/identity/token-verifier.ts'
import { createSessionGuard } from '../sign-in/session-guard.ts'
import { createSignInService } from '../sign-in/sign-in-service.ts'
import { createAccessTokenVerifier } from '../store/sign-in/access-tokens.ts'
import { withDerivedKeys } from '../store/keys/derived-keys.ts'
import type { Store } from './store.ts'

/** What the policy that identifies works with. */
export function identityParts(
  store: Store,
  current: CurrentConfiguration,
  transport: Transport,
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
      createTokenVerifier({
        settings: () => current.settings,
        tenancy: store.tenancy,
        fetch: fetchOf(current, transport),
        clock,
      }),
    ],
    baseUrl: () => current.settings.signIn.baseUrl,
  }
}

function createSignIn(store: Store, current: CurrentConfiguration): SignInService {
  return createSignInService({
    sessions: store.sessions,
    keys: store.directory,
    settings: () => current.settings.signIn,
    credentialOf: operatorCredential(store),
  })
}

/** What endpoints sign persons in with. */
export function signInServices(
  store: Store,
  current: CurrentConfiguration,
  transport: Transport,
): Pick<Services, 'signIn' | 'singleSignOn'> {
  return { signIn: createSignIn(store, current), singleSignOn: openSingleSignOn(store, current, transport) }
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

/** What the operator would sign in with now: another master key ends the sessions of the one before. */
const operatorCredential =
  ({ installation }: Store) =>
  (method: SignInMethod): string | null =>
    method === 'master-key' ? installation.masterKeyName() : null
