/** Who calls. Clients put their key into one of four headers or, Gemini's clients, into `?key=`. */
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestHead, RequestPolicy } from '../core/policy.ts'

/** The caller of a key text; undefined = no such key. Synchronous when the key is known in this process. */
export type FindCaller = (keyText: string) => Caller | undefined | Promise<Caller | undefined>

/** Sets `caller`. Throws `unauthenticated` for a key that is missing, contradictory, unknown, blocked or expired. */
export function identify(find: FindCaller): RequestPolicy {
  const enter = (request: RequestHead, keyText: string, caller: Caller | undefined): void => {
    if (!caller) throw unknownKey(keyText)
    request.caller = caller
  }
  return {
    name: 'identify',
    stage: 'request',
    admit(request) {
      const keyText = presentedKey(request)
      const caller = find(keyText)
      if (caller instanceof Promise) return caller.then(found => enter(request, keyText, found))
      enter(request, keyText, caller)
    },
  }
}

const keyLengthMax = 512

/** The one key that the request presents. Throws `unauthenticated` when there is none, or two that differ. */
function presentedKey(request: Pick<RequestHead, 'headers' | 'query'>): string {
  const { headers } = request
  const authorization = headers.get('authorization')
  let key = authorization ? bearer(authorization) : ''
  let from = 'Authorization'
  for (const header of keyHeaders) {
    const value = headers.get(header)
    if (!value) continue
    if (key && key !== value) throw contradiction(from, header)
    key = value
    from = header
  }
  if (!key) key = request.query.get('key') ?? ''
  if (!key) {
    throw new GatewayError(
      'unauthenticated',
      'no API key was sent; send it as `Authorization: Bearer <key>` (x-api-key, api-key and x-goog-api-key work too)',
    )
  }
  if (key.length > keyLengthMax) throw new GatewayError('unauthenticated', 'the API key is too long to be one')
  return key
}

const keyHeaders = ['x-api-key', 'api-key', 'x-goog-api-key']

function contradiction(one: string, other: string): GatewayError {
  return new GatewayError('unauthenticated', `${one} and ${other} carry different keys; send only one`)
}

function bearer(value: string): string {
  if (value.startsWith('Bearer ')) return value.slice(7).trim()
  const [scheme, rest] = value.split(' ', 2)
  if (scheme!.toLowerCase() === 'bearer' && rest) return value.slice(scheme!.length + 1).trim()
  const slip =
    scheme!.toLowerCase() === 'bearer'
      ? '; there is nothing behind Bearer: is the variable that holds the key empty?'
      : ''
  throw new GatewayError('unauthenticated', `the Authorization header must be \`Bearer <key>\`${slip}`)
}

/** One message for keys that never were, are revoked, blocked or expired: it must not tell which keys exist. */
function unknownKey(keyText: string): GatewayError {
  return new GatewayError(
    'unauthenticated',
    slipIn(keyText) ??
      'the API key is not known, was revoked, is blocked, or has expired; ask whoever runs this gateway for another',
  )
}

function slipIn(keyText: string): string | undefined {
  if (/^bearer /i.test(keyText)) return 'the header says Bearer twice; send `Authorization: Bearer <key>`'
  if (/^(\$|os\.environ\/|<)/.test(keyText))
    return 'the API key is the name of a variable, not its value; does it stand in single quotes?'
  if (/^(["']).*\1$/.test(keyText)) return 'the API key stands in quotes; leave them out'
  return undefined
}
