/** For tests: an identity provider that does right unless a test makes it lie, and a browser that signs in there. */
import { createHash, randomBytes } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import type { CryptoKey, JWK } from 'jose'

type Json = Record<string, unknown>

export const clientId = 'modelgate'
export const clientSecret = 'the-secret-of-the-application-1'

/** What a test changes of the next answers. */
export interface Lies {
  /** Over the claims of ID tokens; undefined removes one. */
  claims?: Json
  /** Over the answer of the userinfo endpoint. */
  userinfo?: Json
  /** Made in the place of an ID token. */
  idToken?: (claims: Json) => string | Promise<string>
  /** Over the parameters of the way back; undefined removes one. */
  answer?: Record<string, string | undefined>
  /** A code may be used again, and the verifier is not asked for. */
  careless?: boolean
  /** Over what discovery says. */
  discovery?: Json
  /** Of /jwks. */
  keysStatus?: number
  /** How long answers of this path take; Infinity = until the provider stops. */
  slow?: { readonly path: string; readonly ms: number }
}

interface Asked {
  readonly nonce: string | null
  readonly challenge: string | null
  readonly redirectUri: string
}

interface SigningKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  readonly jwk: JWK
}

export interface TestProvider {
  readonly issuer: string
  /** Of the person who signs in. */
  person: Json
  lies: Lies
  /** How often /jwks was asked for. */
  readonly keysAsked: () => number
  readonly tokensAsked: () => number
  /** The page was opened: where the browser is sent back. */
  answer(location: string): string
  sign(claims: Json, header?: { kid?: string; alg?: string; typ?: string }): Promise<string>
  /** The public key in PEM, as an attacker would use it as a secret. */
  publicPem(): Promise<string>
  /** From now on another key signs, under an id of its own or that of the one before, which is published no more. */
  rotate(options?: { readonly keepsId?: boolean }): Promise<void>
  stop(): void
}

/** Of providers that have ended: to make one takes a tenth of a second of a processor. */
const freeKeys: SigningKey[] = []

async function signingKey(): Promise<SigningKey> {
  const free = freeKeys.pop()
  if (free) return free
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const kid = randomBytes(8).toString('hex')
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' } }
}

const nowSeconds = () => Math.floor(Date.now() / 1000)

let strangersKey: Promise<SigningKey> | undefined

/** A key that no provider publishes. */
export const unpublishedKey = (): Promise<SigningKey> => (strangersKey ??= signingKey())

/** Signs with a key that no other one has that runs. */
export async function startProvider(): Promise<TestProvider> {
  let key = await signingKey()
  const keys = [key]
  let keysAsked = 0
  let tokensAsked = 0
  const stopped = Promise.withResolvers<void>()
  const codes = new Map<string, Asked>()
  const answerToken = async (request: Request): Promise<Response> => {
    tokensAsked++
    const form = new URLSearchParams(await request.text())
    const basic = Buffer.from(request.headers.get('authorization')?.slice('Basic '.length) ?? '', 'base64').toString()
    const secret = form.get('client_secret') ?? decodeURIComponent(basic.split(':')[1] ?? '')
    if (secret !== clientSecret) return Response.json({ error: 'invalid_client' }, { status: 401 })
    const code = form.get('code') ?? ''
    const asked = codes.get(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = asked && asked.redirectUri === form.get('redirect_uri')
    if (!isRight || (!provider.lies.careless && asked.challenge !== challenge))
      return Response.json({ error: 'invalid_grant', error_description: 'the code is not known' }, { status: 400 })
    if (!provider.lies.careless) codes.delete(code)
    const claims: Json = {
      iss: provider.issuer,
      aud: clientId,
      iat: nowSeconds(),
      exp: nowSeconds() + 300,
      nonce: asked.nonce,
      ...provider.person,
      ...provider.lies.claims,
    }
    const idToken = provider.lies.idToken ? await provider.lies.idToken(claims) : await provider.sign(claims)
    return Response.json({ access_token: 'access', token_type: 'Bearer', expires_in: 300, id_token: idToken })
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const { slow } = provider.lies
      if (slow?.path === pathname)
        await (slow.ms === Infinity ? stopped.promise : Promise.race([stopped.promise, Bun.sleep(slow.ms)]))
      if (pathname === '/token') return answerToken(request)
      if (pathname === '/userinfo') return Response.json({ ...provider.person, ...provider.lies.userinfo })
      if (pathname === '/jwks') {
        keysAsked++
        return Response.json({ keys: [key.jwk] }, { status: provider.lies.keysStatus ?? 200 })
      }
      if (pathname === '/.well-known/openid-configuration')
        return Response.json({
          issuer: provider.issuer,
          authorization_endpoint: `${provider.issuer}/authorize`,
          token_endpoint: `${provider.issuer}/token`,
          userinfo_endpoint: `${provider.issuer}/userinfo`,
          jwks_uri: `${provider.issuer}/jwks`,
          end_session_endpoint: `${provider.issuer}/logout`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
          authorization_response_iss_parameter_supported: true,
          ...provider.lies.discovery,
        })
      return new Response('not found', { status: 404 })
    },
  })
  const provider: TestProvider = {
    issuer: `http://127.0.0.1:${server.port}`,
    person: { sub: 'person-1', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    lies: {},
    keysAsked: () => keysAsked,
    tokensAsked: () => tokensAsked,
    answer(location) {
      const { searchParams: query } = new URL(location)
      const code = randomBytes(16).toString('hex')
      const redirectUri = query.get('redirect_uri')!
      codes.set(code, { nonce: query.get('nonce'), challenge: query.get('code_challenge'), redirectUri })
      const back = new URL(redirectUri)
      const parameters = { code, state: query.get('state')!, iss: provider.issuer, ...provider.lies.answer }
      for (const [name, value] of Object.entries(parameters))
        if (value !== undefined) back.searchParams.set(name, value)
      return back.href
    },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid, ...header }).sign(key.privateKey),
    publicPem: () => exportSPKI(key.publicKey),
    async rotate({ keepsId = false } = {}) {
      const next = await signingKey()
      keys.push(next)
      const { kid } = keepsId ? key : next
      key = { ...next, kid, jwk: { ...next.jwk, kid } }
    },
    stop() {
      stopped.resolve()
      freeKeys.push(...keys.splice(0))
      void server.stop(true)
    },
  }
  return provider
}

/** An unsigned or otherwise signed token, by hand. */
export function tokenOf(header: Json, claims: Json, signature: (signed: string) => string = () => ''): string {
  const encoded = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${encoded}.${signature(encoded)}`
}

/** Cookies as a browser keeps them for one gateway. */
export class Browser {
  readonly cookies = new Map<string, string>()

  /** Follows no redirect. */
  async open(url: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie && { cookie }), ...init.headers }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/max-age=0/i.test(line) || value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return response
  }
}

/** To the provider and back: the answer of the callback. `at` = the replica that the browser comes back to. */
export async function signInWith(
  browser: Browser,
  gatewayUrl: string,
  provider: TestProvider,
  { at = gatewayUrl, query = '' }: { at?: string; query?: string } = {},
): Promise<Response> {
  const away = await browser.open(`${gatewayUrl}/sso/key/generate${query}`)
  if (away.status !== 302) return away
  return browser.open(returnedTo(at, provider.answer(away.headers.get('location')!)), {
    headers: { accept: 'text/html' },
  })
}

/** The address of the callback at this replica. */
export function returnedTo(replica: string, callback: string): string {
  const { pathname, search } = new URL(callback)
  // Without the prefix that a proxy takes off.
  return `${replica}${pathname.slice(pathname.indexOf('/sso/'))}${search}`
}
