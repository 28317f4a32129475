/**
 * A caller's own credential of a vendor: a subscriber's token, or a key of theirs. It comes beside the gateway's key,
 * goes to this vendor alone, and is nowhere kept (docs/decisions/0123).
 */
import type { Secret } from '../lib/secret.ts'
import type { Deployment } from './deployment.ts'
import type { CallHead } from './transport.ts'

/** Headers that carry the gateway's key and nothing else: with one of them, others may carry a vendor's. */
export const gatewayKeyHeaders = ['x-litellm-api-key', 'x-proxy-api-key'] as const

/** Headers in which vendors take credentials, the usual one first; where they come alone, it is the gateway's key. */
export const vendorKeyHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const

/** What a caller sends of a vendor's. */
export interface ClientCredential {
  /** The name of the provider that it belongs to: no other is sent it. */
  readonly vendor: string
  /** One of `vendorKeyHeaders`. */
  readonly header: string
  readonly value: Secret
  /** Headers of the client that say more about the account or the program that it belongs to, by lower-case name. */
  readonly beside: Readonly<Record<string, string>>
  /** Words that the vendor wants in lists of headers, by lower-case name. */
  readonly demanded: Readonly<Record<string, string>>
}

/** The credential that the call brings for this deployment; undefined = it is sent with the gateway's own. */
export function credentialFor(
  { clientCredential }: { readonly clientCredential: ClientCredential | undefined },
  { clientCredentials, target }: Deployment,
): ClientCredential | undefined {
  if (clientCredential === undefined || clientCredentials === undefined) return undefined
  return target.provider.name === clientCredential.vendor ? clientCredential : undefined
}

/** Of the gateway's account at a vendor. */
const accountHeaders: readonly string[] = [...vendorKeyHeaders, 'openai-organization', 'openai-project']

/** The head of a request with the caller's credential in the place of the gateway's. */
export function withCredential({ url, headers }: CallHead, credential: ClientCredential): CallHead {
  const { header, value, beside, demanded } = credential
  const kept = Object.entries(headers).filter(([name]) => !accountHeaders.includes(name))
  const sent: Record<string, string> = { ...Object.fromEntries(kept), ...beside, [header]: value.reveal() }
  for (const [name, word] of Object.entries(demanded)) {
    const given = sent[name]
    if (!given?.includes(word)) sent[name] = given ? `${given},${word}` : word
  }
  return { url, headers: sent }
}
