/** How programs sign in for a person: the device flow (RFC 8628), refresh and revocation (RFC 7009) of its tokens. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { readAccessToken, readRefreshToken, writeAccessToken, writeRefreshToken } from '../../access/access-token.ts'
import { newUserCode } from '../../access/user-code.ts'
import type { Answer } from '../../core/answer.ts'
import type { AskingDevice, DeviceOwner } from '../../core/sign-in/device-sign-in.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { programActorId } from '../../core/tenancy/actors.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import { clientNetwork } from '../../lib/attempt-limit.ts'
import { answerFixed, fixedContent } from '../openapi/fixed-content.ts'
import type { FixedContent } from '../openapi/fixed-content.ts'
import { constant, described, integer, json, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import { gatewayAddress } from '../../sign-in/gateway-address.ts'
import { attemptLimits, pollIntervalMs } from './common/attempt-limits.ts'
import { oauthError, oauthErrorBody, readForm, uncached } from './common/oauth.ts'
import { answerOf } from '../common/json-endpoint.ts'

const seconds = described('The span is given in seconds.', integer)

const signInMetadataSchema = named('SignInMetadata', () =>
  shape({
    issuer: text,
    device_authorization_endpoint: text,
    token_endpoint: text,
    revocation_endpoint: text,
    grant_types_supported: listOf(text),
    response_types_supported: listOf(text),
    token_endpoint_auth_methods_supported: listOf(text),
    revocation_endpoint_auth_methods_supported: listOf(text),
    gateway_protocol_version: integer,
  }),
)

const deviceAuthorizationSchema = named('DeviceAuthorization', () =>
  shape({
    device_code: text,
    user_code: described('What a person has to type, as in `WDJB-MJHT`.', text),
    verification_uri: text,
    verification_uri_complete: text,
    expires_in: seconds,
    interval: described('How many seconds must be between two questions for the token.', integer),
  }),
)

const accessTokenSchema = named('AccessToken', () =>
  shape(
    {
      access_token: text,
      token_type: constant('Bearer'),
      expires_in: seconds,
      refresh_token: described('It is valid for one use.', text),
      user_id: text,
      team_id: nullable(text),
    },
    { email: text },
  ),
)

const revokedSchema = named('Revoked', () => shape({}))

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const codeLifetimeMs = 600_000
/** So long after a refresh the token of before is answered once more: parallel programs, or an answer that was lost. */
const graceMs = 60_000
const codeBytes = 32
const clientLengthMax = 200

/** Where to sign in; the same bytes for all readers of one address. */
export function discovery(): Endpoint {
  let made: { readonly address: string; readonly content: FixedContent } | undefined
  return {
    method: 'GET',
    paths: ['/.well-known/oauth-authorization-server'],
    auth: 'none',
    doc: {
      operationId: 'getSignInMetadata',
      summary: 'Where programs sign in (RFC 8414)',
      tag: 'Sign-in',
      success: json(signInMetadataSchema),
      headers: ['etag'],
    },
    handle(request, services) {
      const address = gatewayAddress(request.headers, services.current.settings.signIn)
      if (made?.address !== address) made = { address, content: metadataOf(address) }
      return answerFixed(request, made.content)
    },
  }
}

function metadataOf(address: string): FixedContent {
  const metadata = {
    issuer: address,
    device_authorization_endpoint: `${address}/oauth/device_authorization`,
    token_endpoint: `${address}/oauth/token`,
    revocation_endpoint: `${address}/oauth/revoke`,
    grant_types_supported: [deviceGrant, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    gateway_protocol_version: 1,
  }
  return fixedContent(Buffer.from(JSON.stringify(metadata)), {
    'content-type': 'application/json',
    'cache-control': 'no-cache',
  })
}

/** Begins a sign-in: a code for the program, and one for the person. */
export const deviceAuthorization: Endpoint = {
  method: 'POST',
  paths: ['/oauth/device_authorization'],
  auth: 'none',
  errorBody: oauthErrorBody,
  doc: {
    operationId: 'askDeviceAuthorization',
    summary: 'Begin the sign-in of a program: a code that a person approves in a browser (RFC 8628)',
    tag: 'Sign-in',
    requestType: 'application/x-www-form-urlencoded',
    requestOptional: true,
    success: json(deviceAuthorizationSchema),
    failures: [400, 415, 429, 503],
  },
  async handle(request, services) {
    const waitMs = attemptLimits(services).codes.take(clientNetwork(request.clientAddress))
    if (waitMs > 0) return tooOften(waitMs)
    // `client_id` and `scope` are read by no rule: every program may ask, and a person decides.
    await readForm(request)
    const deviceCode = `mgc_${randomBytes(codeBytes).toString('base64url')}`
    const userCode = newUserCode()
    const nowMs = services.clock.epochMs()
    await services.deviceSignIns.ask({
      deviceCodeHash: services.hashKey(deviceCode),
      userCode,
      client: clientName(request),
      clientAddress: request.clientAddress,
      createdAtMs: nowMs,
      endMs: nowMs + codeLifetimeMs,
    })
    const page = `${gatewayAddress(request.headers, services.current.settings.signIn)}/device`
    const answer = {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: codeLifetimeMs / 1000,
      interval: pollIntervalMs / 1000,
    }
    return answerOf(deviceAuthorizationSchema, answer, 200, uncached)
  },
}

/** What the person who approves is shown. Signs that could deceive on a page or in a log are left out. */
function clientName({ headers }: HttpRequest): string {
  const name = (headers.get('user-agent') ?? '').replace(/[^\x20-\x7e]/g, '').trim()
  return name.slice(0, clientLengthMax) || 'a program without a name'
}

const tooOften = (waitMs: number): Answer =>
  oauthError('slow_down', 'too many sign-ins from this address; wait, and try again', {
    status: 429,
    retryAfterMs: waitMs,
  })

/** Codes and refresh tokens for access tokens. */
export const token: Endpoint = {
  method: 'POST',
  paths: ['/oauth/token'],
  auth: 'none',
  errorBody: oauthErrorBody,
  doc: {
    operationId: 'getAccessToken',
    summary: 'An access token for a device code that was approved, or for a refresh token',
    tag: 'Sign-in',
    requestType: 'application/x-www-form-urlencoded',
    success: json(accessTokenSchema),
    failures: [400, 415, 429, 503],
  },
  async handle(request, services) {
    const waitMs = attemptLimits(services).tokens.take(clientNetwork(request.clientAddress))
    if (waitMs > 0) return tooOften(waitMs)
    const form = await readForm(request)
    const grant = form.get('grant_type')
    if (grant === deviceGrant) return redeem(form.get('device_code'), request, services)
    if (grant === 'refresh_token') return refresh(form.get('refresh_token'), request, services)
    if (grant === null) return oauthError('invalid_request', 'grant_type: is missing')
    return oauthError('unsupported_grant_type', `grant_type: must be \`${deviceGrant}\` or \`refresh_token\``)
  },
}

async function redeem(code: string | null, request: HttpRequest, services: Services): Promise<Answer> {
  if (!code) return oauthError('invalid_request', 'device_code: is missing')
  if (!/^mgc_[\w-]{43}$/.test(code)) return oauthError('invalid_grant', 'device_code: is none of this gateway')
  const hash = services.hashKey(code)
  if (attemptLimits(services).polls.take(hash) > 0)
    return oauthError('slow_down', `ask once in ${pollIntervalMs / 1000} seconds, and now 5 seconds less often`)
  const grant = await services.deviceSignIns.take(hash)
  switch (grant.state) {
    case 'pending':
      return oauthError('authorization_pending', 'the code is not approved yet')
    case 'denied':
      return oauthError('access_denied', 'the sign-in was denied in the browser')
    case 'gone':
      return oauthError('expired_token', 'the code has expired or was used; begin the sign-in anew')
    case 'approved':
      return begin(services, request, grant)
  }
}

async function begin(services: Services, request: HttpRequest, owner: DeviceOwner & AskingDevice): Promise<Answer> {
  const { idleMs, lifetimeMs } = services.current.settings.agents
  const user = await activeUser(owner.userId, services)
  if (!user) return inactive()
  const { session } = await services.sessions.create({
    userId: owner.userId,
    method: 'device',
    credential: null,
    userAgent: owner.client,
    clientAddress: owner.clientAddress,
    idleMs,
    lifetimeMs,
  })
  await services.deviceSignIns.begin(session.id, owner)
  return tokens(services, request, { signInId: session.id, count: 0, owner, user })
}

async function activeUser(userId: string, services: Services): Promise<User | undefined> {
  const user = await services.tenancy.find('user', userId)
  return user?.blocked ? undefined : user
}

const inactive = (): Answer => oauthError('invalid_grant', 'the user is blocked or was deleted')

async function refresh(text: string | null, request: HttpRequest, services: Services): Promise<Answer> {
  if (!text) return oauthError('invalid_request', 'refresh_token: is missing')
  const claims = readRefreshToken(text, services.sign, timingSafeEqual)
  if (!claims) return oauthError('invalid_grant', 'refresh_token: is none of this gateway; sign in again')
  const reuse = services.current.settings.agents.refreshReuse
  const outcome = await services.deviceSignIns.refresh({ ...claims, graceMs, reuse })
  if (outcome.state === 'ended') return oauthError('invalid_grant', 'the sign-in has ended; sign in again')
  if (outcome.state === 'reused')
    return oauthError(
      'invalid_grant',
      reuse === 'end'
        ? 'the refresh token was used before, perhaps by a thief: the sign-in has ended; sign in again'
        : 'the refresh token was used before; use the newest one, or sign in again',
    )
  const user = await activeUser(outcome.userId, services)
  if (!user) return inactive()
  return tokens(services, request, { signInId: claims.signInId, count: outcome.count, owner: outcome, user })
}

interface IssuedTokens {
  readonly signInId: string
  readonly count: number
  readonly owner: DeviceOwner
  readonly user: User
}

function tokens(services: Services, request: HttpRequest, { signInId, count, owner, user }: IssuedTokens): Answer {
  const { settings } = services.current
  const nowMs = services.clock.epochMs()
  const claims = {
    userId: owner.userId,
    signInId,
    teamId: owner.teamId ?? undefined,
    issuedAtMs: nowMs,
    expiresAtMs: nowMs + settings.agents.accessTokenMs,
  }
  const answer = {
    access_token: writeAccessToken(claims, gatewayAddress(request.headers, settings.signIn), services.sign),
    token_type: 'Bearer' as const,
    expires_in: settings.agents.accessTokenMs / 1000,
    refresh_token: writeRefreshToken({ signInId, count }, services.sign),
    ...(user.email !== null && { email: user.email }),
    user_id: owner.userId,
    team_id: owner.teamId,
  }
  return answerOf(accessTokenSchema, answer, 200, uncached)
}

/** Ends a sign-in, by either of its tokens. 200 for tokens that are none, too (RFC 7009, 2.2). */
export const revocation: Endpoint = {
  method: 'POST',
  paths: ['/oauth/revoke'],
  auth: 'none',
  errorBody: oauthErrorBody,
  doc: {
    operationId: 'revokeToken',
    summary: 'End the sign-in of a program, with all of its tokens (RFC 7009)',
    tag: 'Sign-in',
    requestType: 'application/x-www-form-urlencoded',
    success: json(revokedSchema),
    failures: [400, 415, 429, 503],
  },
  async handle(request, services) {
    const waitMs = attemptLimits(services).tokens.take(clientNetwork(request.clientAddress))
    if (waitMs > 0) return tooOften(waitMs)
    const text = (await readForm(request)).get('token')
    if (!text) return oauthError('invalid_request', 'token: is missing')
    const { sign } = services
    const read = readRefreshToken(text, sign, timingSafeEqual) ?? readAccessToken(text, sign, timingSafeEqual)
    if (read) await services.sessions.revoke(read.signInId, { id: programActorId, keyHash: `session:${read.signInId}` })
    return answerOf(revokedSchema, {}, 200, uncached)
  },
}
