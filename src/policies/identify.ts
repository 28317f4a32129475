/**
 * Identifies the caller: by a key in one of six headers or, on Gemini's paths, in `?key=`; by a token of an identity
 * provider in the place of a key; without either by the cookie of a session.
 */
import { callerProblem } from '../access/caller.ts'
import { refusedFrom } from '../access/key-rotation.ts'
import { derivedLengthMax, derivedPrefix } from '../access/derived-key.ts'
import { shownSession } from '../access/session-cookie.ts'
import { gatewayKeyHeaders, vendorKeyHeaders } from '../core/client-credential.ts'
import { masterCaller } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { GatewayError } from '../core/errors.ts'
import type { AuthFailure, AuthFailureReason } from '../core/sign-in/auth-failure.ts'
import type { AdmittedRequest, RequestPolicy } from '../core/policy.ts'
import type { RequestHeaders } from '../core/request.ts'
import type { KeyRotationSettings } from '../core/settings.ts'
import { callerOfSession } from './identities/by-session.ts'
import type { SessionParts } from './identities/by-session.ts'
import { callerOfToken, isTokenForm } from './identities/by-token.ts'
import type { TokenParts } from './identities/by-token.ts'
import { KeyRefusal } from './identities/key-refusal.ts'

interface IdentifyParts extends SessionParts, TokenParts {
  readonly installation: { isMasterKey(keyText: string): boolean }
  /** How old the texts of keys may become. */
  keyRotation(): KeyRotationSettings
  /** Called for each refusal. */
  refused(failure: AuthFailure): void
}

/**
 * Sets `caller`. Throws `unauthenticated` for a key that is missing, contradictory, unknown or expired, or that is
 * blocked itself or by its user, team or organization, and `forbidden` for a change by a page of another origin.
 * Synchronous for cached keys and for the master key, which needs no database.
 */
export function identify(parts: IdentifyParts): RequestPolicy {
  const { keys, installation, clock, refused } = parts
  const setCaller = (request: AdmittedRequest, keyText: string, caller: Caller | undefined): void => {
    const problem = caller ? callerProblem(caller, clock.epochMs()) : 'unknown'
    if (!caller || problem) throw unknownKey(keyText, problem, caller?.key.id)
    checkAge(caller, parts)
    request.caller = caller
  }
  /** The error for the client, which is reported. */
  const reported = (thrown: unknown, { clientAddress }: AdmittedRequest): unknown => {
    if (thrown instanceof KeyRefusal) refused({ reason: thrown.reason, keyId: thrown.keyId, clientAddress })
    return thrown
  }
  const setLater = (request: AdmittedRequest, keyText: string, caller: Promise<Caller | undefined>): Promise<void> =>
    caller
      .then(found => setCaller(request, keyText, found))
      .catch(thrown => {
        throw reported(thrown, request)
      })
  const later = (request: AdmittedRequest, identified: Promise<Caller>): Promise<void> =>
    identified.then(
      caller => void (request.caller = caller),
      thrown => {
        throw reported(thrown, request)
      },
    )
  /** false = the text is no token of a verifier. */
  const byToken = (request: AdmittedRequest, text: string): boolean | Promise<void> => {
    const caller = parts.tokens.length > 0 && isTokenForm(text) && callerOfToken(text, parts)
    if (caller instanceof Promise) return later(request, caller)
    if (!caller) return false
    request.caller = caller
    return true
  }
  const look = (request: AdmittedRequest): void | Promise<void> => {
    const fromHeader = headerKey(request.headers)
    if (!fromHeader && !hasQueryKey(request)) {
      const shown = shownSession(request.headers, parts.baseUrl())
      if (shown) return later(request, callerOfSession(shown, request, parts))
    } else if (fromHeader.startsWith('eyJ')) {
      const identified = byToken(request, fromHeader)
      if (identified) return identified === true ? undefined : identified
    }
    const keyText = fromHeader || queryKey(request)
    const lengthMax = keyText.startsWith(derivedPrefix) ? derivedLengthMax : keyLengthMax
    if (keyText.length > lengthMax) throw tooLong(keyText)
    const caller = keys.lookup(keyText)
    if (caller !== undefined && !(caller instanceof Promise)) return setCaller(request, keyText, caller)
    if (!installation.isMasterKey(keyText)) {
      if (!caller) throw unknownKey(keyText)
      return setLater(request, keyText, caller)
    }
    if (!fromHeader) throw masterKeyInQuery()
    // The text is the master key, so the database's answer is not awaited and its error is ignored.
    caller?.catch(() => {})
    request.caller = masterCaller
    return undefined
  }
  return {
    name: 'identify',
    stage: 'request',
    admit(request) {
      try {
        return look(request)
      } catch (thrown) {
        throw reported(thrown, request)
      }
    },
  }
}

const keyLengthMax = 512

function tooLong(keyText: string): KeyRefusal {
  return isTokenForm(keyText)
    ? new KeyRefusal(
        'unknown',
        'the token (JWT) is of an issuer that is not known here; `enable_jwt_auth` and `jwt_auth` name the one that is',
      )
    : new KeyRefusal('malformed', 'the API key is too long to be one')
}

/**
 * The one key in the headers; empty = none. That of `x-litellm-api-key` or `x-proxy-api-key` comes first: agents that
 * are signed in at a vendor send it beside the vendor's own token (LiteLLM's page on Claude Code with a subscription).
 * Throws `unauthenticated` when there are two others that differ.
 */
function headerKey(headers: RequestHeaders): string {
  for (const header of gatewayKeyHeaders) {
    const own = headers.get(header)
    if (own) return own.includes(' ') ? bearer(own, header) : own
  }
  const authorization = headers.get('authorization')
  let key = ''
  let from = ''
  for (const header of keyHeaders) {
    const value = headers.get(header)
    if (!value) continue
    if (key && key !== value) throw contradiction(from, header)
    if (!key) from = header
    key = value
  }
  if (!authorization) return key
  const token = bearer(authorization)
  if (key && key !== token) throw contradiction('Authorization', from)
  return token
}

const hasQueryKey = ({ query, keyInQuery }: AdmittedRequest): boolean => keyInQuery && !!query.get('key')

/** The key in the query, on the paths that take it there. Throws `unauthenticated` when there is none. */
function queryKey({ query, keyInQuery }: AdmittedRequest): string {
  const key = query.get('key')
  if (key && keyInQuery) return key
  throw new KeyRefusal(
    'missing',
    key
      ? "a key in the URL is accepted on Gemini's paths only, since URLs are logged; send it as " +
          '`Authorization: Bearer <key>`'
      : 'no API key was sent; send it as `Authorization: Bearer <key>` (x-api-key, api-key and x-goog-api-key work ' +
          'too)',
  )
}

function masterKeyInQuery(): KeyRefusal {
  return new KeyRefusal(
    'malformed',
    'the master key is not accepted in a URL, since URLs are logged: send it as `x-goog-api-key`, or better use a ' +
      'virtual key; change the master key if a log has this URL',
  )
}

const [, ...keyHeaders] = vendorKeyHeaders

function contradiction(one: string, other: string): GatewayError {
  return new KeyRefusal('contradictory', `${one} and ${other} carry different keys; send only one`)
}

function bearer(value: string, header = 'Authorization'): string {
  if (value.startsWith('Bearer ')) {
    const token = value.slice(7).trim()
    if (token) return token
  }
  const [, scheme, token] = /^(\S*)\s*(.*)$/.exec(value.trim())!
  const isBearer = scheme!.toLowerCase() === 'bearer'
  if (isBearer && token) return token
  const slip = isBearer ? '; there is nothing behind Bearer: is the variable that holds the key empty?' : ''
  throw new KeyRefusal('malformed', `the ${header} header must be \`Bearer <key>\`${slip}`)
}

/** One message for unknown, revoked, blocked and expired keys: it must not reveal which keys exist. */
function unknownKey(keyText: string, reason: AuthFailureReason = 'unknown', keyId?: string): GatewayError {
  return new KeyRefusal(
    reason,
    mistakeIn(keyText) ??
      'the API key is not known, was revoked, is blocked, or has expired; ask the administrator of this gateway for ' +
        'another, who makes a lost master key anew with `modelgate keys reset-master`',
    keyId,
  )
}

function checkAge({ key }: Caller, { keyRotation, clock }: Pick<IdentifyParts, 'keyRotation' | 'clock'>): void {
  const endMs = refusedFrom(key, keyRotation())
  if (endMs !== null && endMs <= clock.epochMs()) throw overdueKey(key.id)
}

/** Shown only to those who have the text of a key that works but for its age. */
function overdueKey(keyId: string): GatewayError {
  return new KeyRefusal(
    'overdue',
    'the text of this API key is older than its rotation allows, and the grace is over; have it replaced by ' +
      'POST /key/regenerate: by its user with another key or in a session, or by an administrator',
    keyId,
  )
}

function mistakeIn(keyText: string): string | undefined {
  if (/^bearer /i.test(keyText)) return 'the header says Bearer twice; send `Authorization: Bearer <key>`'
  if (/^(\$|os\.environ\/|<)/.test(keyText))
    return 'the API key is the name of a variable, not its value; does it stand in single quotes?'
  if (/^(["']).*\1$/.test(keyText)) return 'the API key stands in quotes; leave them out'
  return undefined
}
