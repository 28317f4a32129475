/** Verifies the access tokens that programs got by the device flow. */
import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import { isAccessToken, readAccessToken } from '../../access/access-token.ts'
import type { AccessClaims } from '../../access/access-token.ts'
import type { DeviceSignInStore } from '../../core/sign-in/device-sign-in.ts'
import { GatewayError } from '../../core/errors.ts'
import type { TokenVerifier, VerifiedToken } from '../../core/sign-in/sign-in.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Signer } from '../../lib/signer.ts'

interface AccessTokenOptions {
  readonly sign: Signer
  readonly signIns: Pick<DeviceSignInStore, 'isLive'>
  readonly clock: Pick<Clock, 'epochMs'>
  /** How long tokens hold that are made now, in milliseconds. */
  lifetimeMs(): number
}

const claimsMax = 20_000
/** Clocks of replicas differ by as much. */
const skewMs = 60_000
const remedy = 'programs refresh it by themselves; else sign in again, as with `modelgate login`'

/** A signature is checked once, not for each call; that the sign-in has not ended is known without the database. */
export function createAccessTokenVerifier(options: AccessTokenOptions): TokenVerifier {
  const { sign, signIns, clock } = options
  const claimsOf = new LRUCache<string, AccessClaims>(entryLimit(claimsMax))
  return {
    verify(token) {
      let claims = claimsOf.get(token)
      if (!claims) {
        if (!isAccessToken(token)) return undefined
        claims = readAccessToken(token, sign, timingSafeEqual)
        if (!claims) throw refused('was signed by another installation, or was changed')
        claimsOf.set(token, claims)
      }
      checkTimes(claims, clock.epochMs(), options.lifetimeMs())
      const read = claims
      const live = signIns.isLive(read.signInId)
      return live instanceof Promise ? live.then(is => verified(read, is)) : verified(read, live)
    },
  }
}

function checkTimes({ expiresAtMs }: AccessClaims, nowMs: number, lifetimeMs: number): void {
  if (expiresAtMs <= nowMs) throw refused('has expired')
  // Made while a clock was wrong: it would hold for as long as that clock was ahead.
  if (expiresAtMs > nowMs + lifetimeMs + skewMs) throw refused('ends later than any that is made now')
}

function verified({ userId, teamId, expiresAtMs }: AccessClaims, isLive: boolean): VerifiedToken {
  if (!isLive) throw refused('belongs to a sign-in that has ended')
  return { userId, teamId, expiresAtMs, callsOnly: true }
}

const refused = (why: string): GatewayError => new GatewayError('unauthenticated', `the access token ${why}; ${remedy}`)
