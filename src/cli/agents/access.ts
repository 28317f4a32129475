/** A valid access token out of a kept sign-in: refreshed where it is due, by one process at a time. */
import type { Environment } from '../../config/environment.ts'
import { systemClock } from '../../lib/clock.ts'
import { UsageError } from '../command.ts'
import { askGateway, gatewayUrl, GatewayUnreachable } from './gateway-requests.ts'
import type { GatewayAnswer } from './gateway-requests.ts'
import { readSignIns, withLock, writeSignIns } from './sign-in-file.ts'
import type { SignIn, SignIns } from './sign-in-file.ts'

/** A token is renewed so long before its end, or at half of its life where that is shorter. */
const renewBeforeMs = 5 * 60_000

/** The gateway that is meant: `given`, else MODELGATE_URL, else the one signed in to last. Throws UsageError. */
export function chosenGateway(given: string | undefined, environment: Environment): string {
  const text = given ?? (environment.MODELGATE_URL || undefined)
  if (text === undefined) {
    const { newest } = readSignIns(environment)
    if (newest !== undefined) return newest
    throw new UsageError('there is no sign-in on this machine: modelgate login https://gateway.example.com')
  }
  return checkedUrl(text)
}

/** Throws UsageError for what is no address of a gateway. */
export function checkedUrl(text: string): string {
  const url = gatewayUrl(text)
  if (url !== undefined) return url
  throw new UsageError(
    `'${text}' is no address of a gateway: https://host, or http:// on this machine, without user, query and #`,
  )
}

/**
 * The access token for a gateway. `renew` = also where the one that is kept still holds. Throws where there is no
 * sign-in, or where it has ended; while the gateway is away, the token that is kept is good until its end.
 */
export async function accessToken(
  url: string,
  environment: Environment,
  { renew = false }: { readonly renew?: boolean } = {},
): Promise<string> {
  const kept = readSignIns(environment).signIns[url]
  if (kept && !renew && !isDue(kept)) return kept.accessToken
  return withLock(environment, async () => {
    const signIns = readSignIns(environment)
    const signIn = signIns.signIns[url]
    if (!signIn) throw new Error(`you are not signed in to ${url}: modelgate login ${url}`)
    // Another process may have renewed it meanwhile.
    if (!isDue(signIn) && (!renew || signIn.accessToken !== kept?.accessToken)) return signIn.accessToken
    try {
      return await renewed(url, signIn, { environment, signIns })
    } catch (error) {
      if (error instanceof GatewayUnreachable && ageOf(signIn) < signIn.lifetimeMs) return signIn.accessToken
      throw error
    }
  })
}

const ageOf = ({ obtainedAtMs }: SignIn): number => systemClock.epochMs() - obtainedAtMs

/** A clock that was set back says nothing about the token's age. */
function isDue(signIn: SignIn): boolean {
  const ageMs = ageOf(signIn)
  return ageMs < 0 || ageMs >= signIn.lifetimeMs - Math.min(renewBeforeMs, signIn.lifetimeMs / 2)
}

async function renewed(
  url: string,
  signIn: SignIn,
  { environment, signIns }: { readonly environment: Environment; readonly signIns: SignIns },
): Promise<string> {
  const answer = await askGateway(signIn.tokenEndpoint, {
    grant_type: 'refresh_token',
    refresh_token: signIn.refreshToken,
  })
  const tokens = tokensOfAnswer(answer)
  if (tokens) {
    writeSignIns(environment, { ...signIns, signIns: { ...signIns.signIns, [url]: { ...signIn, ...tokens } } })
    return tokens.accessToken
  }
  if (answer.json?.error !== 'invalid_grant')
    throw new GatewayUnreachable(`the gateway at ${url} gave no token: ${problemIn(answer)}`)
  writeSignIns(environment, withoutSignIn(signIns, url))
  throw new Error(`the sign-in to ${url} has ended (${problemIn(answer)}): modelgate login ${url}`)
}

/** The sign-ins without that of one gateway. */
export function withoutSignIn({ signIns, newest, ...rest }: SignIns, url: string): SignIns {
  const others = Object.fromEntries(Object.entries(signIns).filter(([address]) => address !== url))
  const next = newest === url ? Object.keys(others)[0] : newest
  return { ...rest, signIns: others, ...(next !== undefined && { newest: next }) }
}

/** The tokens of an answer of the token endpoint; undefined = it has none. */
export function tokensOfAnswer({
  status,
  json,
}: GatewayAnswer): Pick<SignIn, 'accessToken' | 'refreshToken' | 'obtainedAtMs' | 'lifetimeMs'> | undefined {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = json ?? {}
  if (status !== 200 || typeof accessToken !== 'string' || typeof refreshToken !== 'string') return undefined
  const lifetimeMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : 0
  return { accessToken, refreshToken, obtainedAtMs: systemClock.epochMs(), lifetimeMs }
}

/** Why a gateway refused, for messages. Control characters of a foreign server do not reach the terminal. */
export function problemIn({ status, json }: GatewayAnswer): string {
  const text = json?.error_description ?? json?.error
  return typeof text === 'string' ? text.replace(/\p{Cc}/gu, ' ').slice(0, 300) : `status ${status}`
}
