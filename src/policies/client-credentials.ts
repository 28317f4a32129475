/** Finds the caller's own credentials of a vendor, for models that are served with them (docs/coding-agents.md). */
import { derivedPrefix } from '../access/derived-key.ts'
import { fallbackLists, keepDeployments } from '../access/models/serving-deployments.ts'
import type { CallInAdmission } from '../core/call.ts'
import { credentialFor, gatewayKeyHeaders, vendorKeyHeaders } from '../core/client-credential.ts'
import type { ClientCredential } from '../core/client-credential.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { Provider } from '../core/provider.ts'
import type { RequestHeaders } from '../core/request.ts'
import type { TokenVerifier } from '../core/sign-in/sign-in.ts'
import type { KeyDirectory } from '../core/tenancy/keys.ts'
import { Secret } from '../lib/secret.ts'
import { isTokenForm } from './identities/by-token.ts'

/** By which what is of this gateway is told from what is of a vendor. */
interface CredentialParts {
  readonly keys: Pick<KeyDirectory, 'lookup'>
  readonly installation: { isMasterKey(keyText: string): boolean }
  readonly tokens: readonly TokenVerifier[]
  providers(): Iterable<Provider>
}

/**
 * Once the deployments of a call are known: sets `clientCredential`. A call that brings credentials is served by those
 * deployments of its model that take them, a call without by those that have a key of the gateway's. Throws
 * `unauthenticated` where none is left, and `invalid-request` where it cannot be said whose the credentials are, or
 * where they are the gateway's.
 */
export function clientCredentials(parts: CredentialParts): Policy {
  return {
    name: 'client-credentials',
    stage: 'body',
    admit(call) {
      if (!takesAny(call)) return undefined
      call.clientCredential = credentialOf(call, [...parts.providers()])
      choose(call)
      return call.clientCredential && refuseGatewayKey(call.clientCredential, parts)
    },
  }
}

/**
 * Throws `invalid-request` for any key or token of this gateway: it would be shown to the vendor. What cannot be
 * looked up is not sent.
 */
async function refuseGatewayKey({ header, value, vendor }: ClientCredential, parts: CredentialParts): Promise<void> {
  if (!(await isGatewayKey(textOf(value.reveal()), parts))) return
  throw new GatewayError(
    'invalid-request',
    `\`${header}\` carries a key of this gateway, which no vendor is sent; put your own credentials of ${vendor} ` +
      `there, or leave \`${header}\` out`,
  )
}

async function isGatewayKey(text: string, parts: CredentialParts): Promise<boolean> {
  if (parts.installation.isMasterKey(text) || text.startsWith(derivedPrefix)) return true
  for (const one of parts.providers()) if (one.callersCredentials?.form?.test(text)) return false
  if (isTokenForm(text)) return isOwnToken(text, parts.tokens)
  return (await parts.keys.lookup(text)) !== undefined
}

/** Also one that has ended, or whose issuer cannot be asked. */
async function isOwnToken(text: string, verifiers: CredentialParts['tokens']): Promise<boolean> {
  try {
    for (const one of verifiers) if (await one.verify(text)) return true
    return false
  } catch {
    return true
  }
}

const takes = (one: Deployment): boolean => one.clientCredentials !== undefined

/** Loops: every call passes here. */
function takesAny(call: CallInAdmission): boolean {
  for (const one of call.candidates) if (takes(one)) return true
  for (const list of fallbackLists) for (const one of call[list]) if (one.deployments.some(takes)) return true
  return false
}

function choose(call: CallInAdmission): void {
  const isServed = (one: Deployment): boolean =>
    one.clientCredentials !== 'required' || credentialFor(call, one) !== undefined
  const isOwn = (one: Deployment): boolean => credentialFor(call, one) !== undefined
  const asked = call.candidates
  keepDeployments(call, group => (group.some(isOwn) ? group.filter(isOwn) : group.filter(isServed)))
  if (asked.length > 0 && call.candidates.length === 0) throw missing(call, asked[0]!)
}

function missing({ model, clientCredential }: CallInAdmission, { target }: Deployment): GatewayError {
  const { name } = target.provider
  const given = clientCredential ? `; those that were sent are of ${clientCredential.vendor}` : ''
  return new GatewayError(
    'unauthenticated',
    `the model '${model}' is served with your own credentials of ${name}: send the gateway's key in ` +
      `\`${gatewayKeyHeaders[1]}\`, and yours as ${name} takes them, for example in \`Authorization\`${given}`,
  )
}

function credentialOf(call: CallInAdmission, providers: readonly Provider[]): ClientCredential | undefined {
  const { headers } = call
  const ownKey = headers && gatewayKeyHeaders.map(name => headers.get(name)).find(value => value)
  if (!headers || !ownKey) return undefined
  const gatewayKey = textOf(ownKey)
  for (const header of vendorKeyHeaders) {
    const value = headers.get(header)
    const text = value ? textOf(value) : ''
    // A client may send the gateway's key in each header that it knows.
    if (!value || text === gatewayKey) continue
    const provider = vendorOf({ header, text }, call, providers)
    const { besideHeaders = [], demanded } = provider.callersCredentials ?? {}
    return {
      vendor: provider.name,
      header,
      value: new Secret(value),
      beside: besideOf(besideHeaders, headers),
      demanded: demanded?.(text) ?? {},
    }
  }
  return undefined
}

const textOf = (value: string): string => value.replace(/^bearer\s+/i, '').trim()

/** By the form of the credential, else by its header, else by the dialect: programs send a vendor what is its own. */
function vendorOf(
  { header, text }: { readonly header: string; readonly text: string },
  call: CallInAdmission,
  providers: readonly Provider[],
): Provider {
  const dialect = call.format?.dialect
  const known =
    providers.find(one => one.callersCredentials?.form?.test(text)) ??
    providers.find(one => one.callersCredentials?.header === header) ??
    providers.find(one => dialect !== undefined && one.callersCredentials?.dialects?.includes(dialect))
  if (known !== undefined) return known
  const vendors = new Set([...call.candidates, ...fallbacksOf(call)].filter(takes).map(one => one.target.provider))
  const [first] = vendors
  if (vendors.size === 1) return first!
  throw new GatewayError(
    'invalid-request',
    `the model '${call.model}' is served with your own credentials by several vendors ` +
      `(${[...vendors].map(one => one.name).join(', ')}), and \`${header}\` does not say whose it carries; call a ` +
      `model of one vendor, or leave \`${header}\` out`,
    { param: 'model' },
  )
}

/** Where the model itself takes none: those that may come after it. */
function fallbacksOf(call: CallInAdmission): readonly Deployment[] {
  if (call.candidates.some(takes)) return []
  return fallbackLists.flatMap(list => call[list].flatMap(one => one.deployments))
}

function besideOf(names: readonly string[], headers: RequestHeaders): Record<string, string> {
  const beside: Record<string, string> = {}
  for (const name of names) {
    const value = headers.get(name)
    if (value) beside[name] = value
  }
  return beside
}
