/**
 * The short-lived tokens that programs get by the device flow: a JWT (RFC 9068) under a secret of the installation, so
 * that every replica can verify it without asking.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { lazy } from '../lib/lazy.ts'
import type { Signer } from '../lib/signer.ts'

/** Names the issuer in the head of a token: all others are for the identity providers. */
const accessTokenKeyId = 'modelgate-sign-in'
/** Longer texts are no tokens. */
const accessTokenLengthMax = 4096

const algorithm = 'HS256'
const mediaType = 'at+jwt'
const audience = 'modelgate'
const head = Buffer.from(JSON.stringify({ alg: algorithm, typ: mediaType, kid: accessTokenKeyId })).toString(
  'base64url',
)

const claimsSchema = lazy(() =>
  z.object({
    aud: z.literal(audience),
    /** The id of the user. */
    sub: z.string().min(1).max(255),
    /** The id of the sign-in, which is that of its session. */
    sid: z.string().min(1).max(64),
    /** The team that is charged; absent = none. */
    team: z.string().min(1).max(255).optional(),
    /** Seconds since 1970. */
    iat: z.number().int().min(0),
    exp: z.number().int().min(0),
  }),
)
type Claims = z.infer<ReturnType<typeof claimsSchema>>

/** Whom a token stands for. Moments are milliseconds since 1970. */
export interface AccessClaims {
  readonly userId: string
  readonly signInId: string
  readonly teamId: string | undefined
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

/** The text of a token. `issuer` = the address of the gateway. Moments are rounded down to seconds. */
export function writeAccessToken(claims: AccessClaims, issuer: string, sign: Signer): string {
  const { userId, signInId, teamId, issuedAtMs, expiresAtMs } = claims
  const body: Claims & { iss: string; jti: string } = {
    iss: issuer,
    aud: audience,
    sub: userId,
    sid: signInId,
    ...(teamId !== undefined && { team: teamId }),
    iat: Math.floor(issuedAtMs / 1000),
    exp: Math.floor(expiresAtMs / 1000),
    jti: randomUUID(),
  }
  const signed = `${head}.${Buffer.from(JSON.stringify(body)).toString('base64url')}`
  return `${signed}.${signatureOf(signed, sign).toString('base64url')}`
}

/** The token names this gateway's own key; whether it holds says `readAccessToken`. */
export const isAccessToken = (text: string): boolean =>
  text.length <= accessTokenLengthMax && text.startsWith(`${head}.`)

/** undefined = it was not signed by this installation. Whether it has expired is not checked. */
export function readAccessToken(
  text: string,
  sign: Signer,
  isEqual: (one: Buffer, other: Buffer) => boolean,
): AccessClaims | undefined {
  if (!isAccessToken(text)) return undefined
  const dot = text.lastIndexOf('.')
  const signed = text.slice(0, dot)
  const [given, expected] = [Buffer.from(text.slice(dot + 1), 'base64url'), signatureOf(signed, sign)]
  if (given.length !== expected.length || !isEqual(given, expected)) return undefined
  const body: unknown = JSON.parse(Buffer.from(signed.slice(head.length + 1), 'base64url').toString())
  const { data } = claimsSchema().safeParse(body)
  return (
    data && {
      userId: data.sub,
      signInId: data.sid,
      teamId: data.team,
      issuedAtMs: data.iat * 1000,
      expiresAtMs: data.exp * 1000,
    }
  )
}

/** The key is derived, so that it signs nothing but these tokens. */
function signatureOf(signed: string, sign: Signer): Buffer {
  return createHmac('sha256', sign('access tokens of programs')).update(signed).digest()
}

/** Every refresh token begins so. */
const refreshTokenPrefix = 'mgr_'

/** What a refresh token names: the how-many-th of which sign-in. */
export interface RefreshClaims {
  readonly signInId: string
  /** 0 = the one that the device flow gave. */
  readonly count: number
}

/**
 * The text of a refresh token. The same each time: a client that lost the answer of a refresh gets it again, and none
 * is stored.
 */
export function writeRefreshToken({ signInId, count }: RefreshClaims, sign: Signer): string {
  const named = `${signInId}.${count}`
  return `${refreshTokenPrefix}${named}.${sign(`refresh token ${named}`).toString('base64url')}`
}

/** undefined = it was not made by this installation. */
export function readRefreshToken(
  text: string,
  sign: Signer,
  isEqual: (one: Buffer, other: Buffer) => boolean,
): RefreshClaims | undefined {
  const [, signInId, digits, given] = /^mgr_([0-9a-f-]{36})\.(0|[1-9]\d{0,8})\.([\w-]{43})$/.exec(text) ?? []
  if (signInId === undefined || digits === undefined || given === undefined) return undefined
  const claims = { signInId, count: Number(digits) }
  return isEqual(Buffer.from(text), Buffer.from(writeRefreshToken(claims, sign))) ? claims : undefined
}
