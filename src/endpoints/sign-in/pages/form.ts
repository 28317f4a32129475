/** Forms of pages without script: read, and bound to the browser that they were shown to. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { isOwnOrigin, setCookie, shownCookie } from '../../../access/session-cookie.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { Html } from '../../../lib/html.ts'
import { hiddenField } from './page.ts'

const names = { secureName: '__Host-modelgate_form', plainName: 'modelgate_form' }
const tokenName = 'form_token'

type RequestHeaders = Pick<HttpRequest, 'headers'>
type SigningServices = Pick<Services, 'sign' | 'current'>

const tokenOf = ({ sign }: SigningServices, id: string): Buffer => sign(`form ${id}`)

/**
 * A hidden field that only this gateway makes for this browser, and the cookie that it belongs to: a page elsewhere
 * cannot send the form in the user's name. Throws `forbidden` over plain http from another machine.
 */
export function formToken(
  { headers }: RequestHeaders,
  services: SigningServices,
): { readonly field: Html; readonly cookie: string } {
  const id = shownId({ headers }, services) ?? randomBytes(16).toString('base64url')
  const { baseUrl } = services.current.settings.signIn
  return {
    field: hiddenField(tokenName, tokenOf(services, id).toString('base64url')),
    cookie: setCookie(headers, baseUrl, { ...names, value: id, sameSite: 'Lax' }),
  }
}

function shownId({ headers }: RequestHeaders, { current }: SigningServices): string | undefined {
  const id = shownCookie(headers, current.settings.signIn.baseUrl, names)
  return id !== undefined && /^[\w-]{22}$/.test(id) ? id : undefined
}

/** The request is a form, as browsers send it without script. */
export function isForm({ headers }: RequestHeaders): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers.get('content-type') ?? '')
}

/** The form was shown to this browser by this gateway. */
export function isOwnForm(request: RequestHeaders, fields: URLSearchParams, services: SigningServices): boolean {
  const id = shownId(request, services)
  if (id === undefined) return false
  const given = Buffer.from(fields.get(tokenName) ?? '', 'base64url')
  const expected = tokenOf(services, id)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/**
 * Throws `forbidden` for JSON that a page of another origin sends: it could sign its reader in as another. Programs
 * send no origin.
 */
export function checkOwnOrigin({ headers }: RequestHeaders, { current }: Pick<Services, 'current'>): void {
  const origin = headers.get('origin')
  if (origin === null) return
  const { baseUrl } = current.settings.signIn
  if ([true, false].some(secure => isOwnOrigin(origin, headers, { baseUrl, secure }))) return
  throw new GatewayError(
    'forbidden',
    'a page of another origin cannot sign in here; behind a proxy set PROXY_BASE_URL to the address that browsers see',
  )
}
