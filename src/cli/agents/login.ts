/** Signs this person in to a gateway (the device flow of RFC 8628), and out. */
import { z } from 'zod'
import type { Environment } from '../../config/environment.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Command } from '../command.ts'
import { print, printError, UsageError } from '../command.ts'
import { text } from '../options.ts'
import { checkedUrl, chosenGateway, problemIn, tokensOfAnswer, withoutSignIn } from './access.ts'
import { openBrowser } from './browser.ts'
import { askGateway, GatewayUnreachable } from './gateway-requests.ts'
import { readSignIns, withLock, writeSignIns } from './sign-in-file.ts'
import type { SignIn } from './sign-in-file.ts'
import { lazy } from '../../lib/lazy.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const intervalSecondsDefault = 5
/** What `slow_down` adds to the interval (RFC 8628, 3.5). */
const slowDownSeconds = 5

const metadataSchema = lazy(() =>
  z.object({
    device_authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string().optional(),
  }),
)
const authorizationSchema = lazy(() =>
  z.object({
    device_code: z.string().min(1),
    user_code: z.string().regex(/^[A-Za-z0-9-]{1,40}$/),
    verification_uri: z.string(),
    verification_uri_complete: z.string().optional(),
    expires_in: z.number().positive(),
    interval: z.number().positive().optional(),
  }),
)
type Metadata = z.infer<ReturnType<typeof metadataSchema>>

/** Prints the code and the address, and waits until a person has approved it. */
export const login: Command = {
  name: 'login',
  summary: 'Sign in to a gateway in the browser, for coding agents and scripts (modelgate token)',
  arguments: 'URL',
  flags: { 'no-browser': { type: 'boolean', help: 'Do not open a browser; show the address alone' } },
  async run({ flags, positionals, environment }) {
    const [given] = positionals
    if (given === undefined) throw new UsageError('name the gateway: modelgate login https://gateway.example.com')
    const url = checkedUrl(given)
    const metadata = await discover(url)
    const signIn = await approved(metadata, url, { opensBrowser: flags['no-browser'] !== true, environment })
    const before = await keep(url, signIn, environment)
    // The one that it replaces would be of no use to this person any more.
    if (before) await revoke(before).catch(() => {})
    print(`signed in to ${url} as ${signIn.user}`)
    return 0
  },
}

/** Ends the sign-in at the gateway, and forgets it here. */
export const logout: Command = {
  name: 'logout',
  summary: 'Sign out of a gateway, and end the tokens of this machine there',
  arguments: '[URL]',
  flags: {},
  async run({ positionals, environment }) {
    const url = chosenGateway(text(positionals[0]), environment)
    const signIn = await withLock(environment, async () => {
      const signIns = readSignIns(environment)
      const found = signIns.signIns[url]
      if (found) writeSignIns(environment, withoutSignIn(signIns, url))
      return found
    })
    if (!signIn) throw new Error(`you are not signed in to ${url}`)
    try {
      await revoke(signIn)
    } catch (error) {
      const { message } = error as Error
      printError(`the sign-in is forgotten here, but goes on at the gateway until its end: ${message}`)
      return 1
    }
    print(`signed out of ${url}`)
    return 0
  },
}

async function discover(url: string): Promise<Metadata> {
  const answer = await askGateway(`${url}/.well-known/oauth-authorization-server`)
  const { data } = metadataSchema().safeParse(answer.json)
  if (answer.status !== 200 || !data)
    throw new Error(`${url} is no gateway that programs can sign in to: ${problemIn(answer)}`)
  const foreign = [data.device_authorization_endpoint, data.token_endpoint, data.revocation_endpoint].find(
    endpoint => endpoint !== undefined && originOf(endpoint) !== new URL(url).origin,
  )
  if (foreign !== undefined)
    throw new Error(
      `the gateway calls itself ${originOf(foreign) ?? 'what is no address'}: sign in under that address, or have ` +
        'its operator set PROXY_BASE_URL',
    )
  return data
}

const originOf = (text: string): string | undefined => (URL.canParse(text) ? new URL(text).origin : undefined)

interface LoginOptions {
  readonly opensBrowser: boolean
  readonly environment: Environment
}

async function approved(metadata: Metadata, url: string, { opensBrowser, environment }: LoginOptions): Promise<SignIn> {
  const answer = await askGateway(metadata.device_authorization_endpoint, { client_id: 'modelgate' })
  const { data } = authorizationSchema().safeParse(answer.json)
  if (answer.status !== 200 || !data) throw new Error(`the gateway does not sign in programs now: ${problemIn(answer)}`)
  const page = data.verification_uri_complete ?? data.verification_uri
  if (originOf(page) !== new URL(url).origin || originOf(data.verification_uri) !== originOf(page))
    throw new Error('the gateway names a page of another server; this is refused, since it could be a trap')
  printError(`Open ${data.verification_uri} and approve the code ${data.user_code}`)
  if (opensBrowser) openBrowser(page, environment)
  const tokens = await poll(metadata.token_endpoint, data)
  return {
    ...tokens,
    tokenEndpoint: metadata.token_endpoint,
    ...(metadata.revocation_endpoint !== undefined && { revocationEndpoint: metadata.revocation_endpoint }),
  }
}

/** Asks until the code is decided. A gateway that is away for a moment is asked again. */
async function poll(
  endpoint: string,
  {
    device_code: code,
    expires_in: seconds,
    interval = intervalSecondsDefault,
  }: z.infer<ReturnType<typeof authorizationSchema>>,
): Promise<Omit<SignIn, 'tokenEndpoint'>> {
  const endMs = systemClock.monotonicMs() + seconds * 1000
  let waitSeconds = interval
  while (systemClock.monotonicMs() < endMs) {
    await new Promise(resolve => setTimeout(resolve, waitSeconds * 1000))
    try {
      const answer = await askGateway(endpoint, { grant_type: deviceGrant, device_code: code })
      const tokens = tokensOfAnswer(answer)
      if (tokens) return { ...tokens, user: userIn(answer.json) }
      const error = answer.json?.error
      if (error === 'slow_down') waitSeconds += slowDownSeconds
      else if (error === 'access_denied') throw new Error('the sign-in was denied in the browser')
      else if (error !== 'authorization_pending' && error !== 'temporarily_unavailable')
        throw new Error(problemIn(answer))
    } catch (error) {
      if (!(error instanceof GatewayUnreachable)) throw error
    }
  }
  throw new Error('the code was not approved in time; run the command again')
}

function userIn(json: Readonly<Record<string, unknown>> | undefined): string {
  const name = json?.email ?? json?.user_id
  return typeof name === 'string' ? name.replace(/\p{Cc}/gu, '').slice(0, 200) : 'a user'
}

/** Resolves with the sign-in that it replaces. */
function keep(url: string, signIn: SignIn, environment: Environment): Promise<SignIn | undefined> {
  return withLock(environment, async () => {
    const kept = readSignIns(environment)
    writeSignIns(environment, { ...kept, newest: url, signIns: { ...kept.signIns, [url]: signIn } })
    return kept.signIns[url]
  })
}

async function revoke({ revocationEndpoint, refreshToken }: SignIn): Promise<void> {
  if (revocationEndpoint === undefined) return
  const answer = await askGateway(revocationEndpoint, { token: refreshToken, token_type_hint: 'refresh_token' })
  if (answer.status !== 200) throw new Error(problemIn(answer))
}
