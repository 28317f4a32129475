/** Signing in with the master key or a password, by a page without script or by JSON, and signing out. */
import { signedInSchema } from './common/signed-in.ts'
import { z } from 'zod'
import { checkSameOrigin } from '../../access/session-cookie.ts'
import type { Answer } from '../../core/answer.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { returnPath } from '../../sign-in/return-path.ts'
import { html } from '../../lib/html.ts'
import { readJsonAs } from '../common/checked-input.ts'
import { boolean, constant, described, json, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import { readForm } from './common/oauth.ts'
import { forgottenPasswordPath, sendsResets } from './forgotten-password.ts'
import { checkOwnOrigin, formToken, isForm, isOwnForm } from './pages/form.ts'
import { panelPath, signedIn } from './pages/signed-in.ts'
import { hiddenField, movedAnswer, pageAnswer, refusalPage } from './pages/page.ts'
import { lazy } from '../../lib/lazy.ts'
import { answerOf } from '../common/json-endpoint.ts'

const signedOutSchema = named('SignedOut', () => shape({ signed_out: constant(true) }))

const signInMethodsSchema = named('SignInMethods', () =>
  shape({
    password: boolean,
    login_url: text,
    fallback_url: text,
    forgotten_password_url: described('null = this gateway sends no mail.', nullable(text)),
    providers: listOf(shape({ name: text, display_name: text, url: text })),
  }),
)

const tag = 'Sign-in'
const accountLengthMax = 320
const passwordLengthMax = 1024

const loginBody = lazy(() =>
  z.strictObject({
    username: z
      .string()
      .max(accountLengthMax)
      .default('')
      .describe('It is the id or e-mail address of a user; `admin`, or nothing, with the master key as password.'),
    password: z.string().min(1).max(passwordLengthMax),
    return_to: z.string().max(2000).optional().describe('A path of this gateway; others are not used.'),
  }),
)

interface LoginPage {
  readonly request: HttpRequest
  readonly services: Services
  readonly returnTo?: string | undefined
  readonly message?: string
  readonly status?: number
}

function loginPageAnswer({ request, services, returnTo, message, status }: LoginPage): Answer {
  const { field, cookie } = formToken(request, services)
  // Seen from /login and from /fallback/login alike.
  const ownName = services.current.settings.signIn.operatorName === 'admin'
  const operator = ownName ? html`<code>admin</code>` : 'the name that the environment sets'
  const root = request.path.startsWith('/fallback/') ? '../' : ''
  const links = providersOf(services).map(({ url, display_name: name }) => {
    const back = returnTo === undefined ? '' : `&return_to=${encodeURIComponent(returnTo)}`
    return html`<p><a href="${root}${url}${back}">Sign in with ${name}</a></p>`
  })
  const forgotten = sendsResets(services)
    ? html`<p><a href="${root}${forgottenPasswordPath.slice(1)}">Forgot your password?</a></p>`
    : ''
  const content = html`${links}<form method="post" action="${root}login">
${field}
${returnTo === undefined ? '' : hiddenField('return_to', returnTo)}
<label>User id or e-mail address
<input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" autofocus></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>
${forgotten}
<p>The operator signs in as ${operator}, with the master key as password.</p>`
  return { ...pageAnswer({ title: 'Sign in', content, message }, status), cookies: [cookie] }
}

/** Identity providers, in the order of the configuration; addresses are relative to the gateway's own. */
function providersOf({ current }: Services) {
  return current.settings.identity.providers.map(({ name, displayName }) => ({
    name,
    display_name: displayName,
    url: `sso/key/generate?provider=${encodeURIComponent(name)}`,
  }))
}

const loginPage: Endpoint = {
  method: 'GET',
  paths: ['/fallback/login'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'getLoginPage',
    summary: 'A page to sign in that needs no script, no single sign-on and no file of the panel',
    tag,
    query: {
      return_to: { schema: text, description: 'A path of this gateway, where the browser goes after the sign-in.' },
    },
    success: { 'text/html': text },
    headers: ['set-cookie'],
    failures: [403],
  },
  handle: (request, services) =>
    loginPageAnswer({ request, services, returnTo: returnPath(request.query.get('return_to')) }),
}

const login: Endpoint = {
  method: 'POST',
  paths: ['/login', '/v2/login'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'signIn',
    summary: 'Sign in with the master key, or as a user with a password; answers with the cookie of a session',
    tag,
    request: loginBody,
    success: json(signedInSchema),
    headers: ['set-cookie'],
    failures: [401, 403, 429],
  },
  handle: (request, services) => (isForm(request) ? loginByForm(request, services) : loginByJson(request, services)),
}

async function loginByJson(request: HttpRequest, services: Services): Promise<Answer> {
  checkOwnOrigin(request, services)
  const { username, password, return_to: returnTo } = await readJsonAs(request, loginBody())
  const { session, cookies } = await services.login.login({ account: username, password, request })
  return { ...answerOf(signedInSchema, signedIn(session, services, returnPath(returnTo))), cookies }
}

async function loginByForm(request: HttpRequest, services: Services): Promise<Answer> {
  const fields = await readForm(request)
  const returnTo = returnPath(fields.get('return_to'))
  const again = (message: string, status: number) => loginPageAnswer({ request, services, returnTo, message, status })
  if (!isOwnForm(request, fields, services)) return again('The page was too old. Please try again.', 403)
  const account = (fields.get('username') ?? '').slice(0, accountLengthMax)
  const password = fields.get('password') ?? ''
  if (password === '' || password.length > passwordLengthMax) return again('The password is missing or too long.', 422)
  try {
    const { cookies } = await services.login.login({ account, password, request })
    return movedAnswer(`.${returnTo ?? panelPath}`, cookies)
  } catch (thrown) {
    return refusalPage(thrown, again)
  }
}

const logout: Endpoint = {
  method: 'POST',
  paths: ['/sign-in/logout'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'signOut',
    summary: 'End the session of the cookie, here and on every replica; well without one, too',
    tag,
    success: json(signedOutSchema),
    headers: ['set-cookie'],
    failures: [403],
  },
  async handle(request, services) {
    const { baseUrl } = services.current.settings.signIn
    checkSameOrigin(request.headers, baseUrl, (request.headers.get('origin') ?? '').startsWith('https:'))
    const { setCookie } = await services.signIn.signOut(request)
    return { ...answerOf(signedOutSchema, { signed_out: true }), cookies: [setCookie] }
  },
}

const methods: Endpoint = {
  method: 'GET',
  paths: ['/sign-in/methods'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'listSignInMethods',
    summary: 'How one may sign in here',
    tag,
    success: json(signInMethodsSchema),
  },
  handle(_, services) {
    const methods = {
      password: true,
      login_url: 'login',
      fallback_url: 'fallback/login',
      forgotten_password_url: sendsResets(services) ? forgottenPasswordPath.slice(1) : null,
    }
    const answer = { ...methods, providers: providersOf(services) }
    return answerOf(signInMethodsSchema, answer, 200, { 'cache-control': 'no-store' })
  },
}

/** Signing in without an identity provider, and out. */
export const loginEndpoints: readonly Endpoint[] = [loginPage, login, logout, methods]
