/**
 * A link by mail for a user who has forgotten the password. The answer is the same for every address, at once: it says
 * nothing about who has an account here.
 */
import { z } from 'zod'
import type { Answer } from '../../core/answer.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import { clientNetwork } from '../../lib/attempt-limit.ts'
import { asciiLower } from '../../lib/text.ts'
import { html } from '../../lib/html.ts'
import { lazy } from '../../lib/lazy.ts'
import { readJsonAs } from '../common/checked-input.ts'
import { json, named, shape, text } from '../openapi/schema.ts'
import { attemptLimits } from './common/attempt-limits.ts'
import { mailLink, passwordLinkAt } from './common/link-mail.ts'
import { readForm } from './common/oauth.ts'
import { checkOwnOrigin, formToken, isForm, isOwnForm } from './pages/form.ts'
import { pageAnswer, refusalPage } from './pages/page.ts'
import { answerOf } from '../common/json-endpoint.ts'

const passwordLinkAskedSchema = named('PasswordLinkAsked', () => shape({ message: text }))

/** Of the page, and where it is sent to. */
export const forgottenPasswordPath = '/fallback/forgotten-password'
const lifetimeMs = 3_600_000
const emailLengthMax = 320
const title = 'Forgotten password'

const confirmation =
  'If a user with this address has a password here, a mail with a link was sent to it. The link works for an hour.'

/** Mails can be sent, with an address that no client has chosen. */
export function sendsResets({ mailer, current }: Pick<Services, 'mailer' | 'current'>): boolean {
  return mailer !== undefined && current.settings.signIn.baseUrl !== null
}

const body = lazy(() => z.strictObject({ email: z.string().min(3).max(emailLengthMax) }))

/** Throws `conflict` where no mail can be sent, and `rate-limited` for a network that asks too often. */
function ask(email: string, request: HttpRequest, services: Services): void {
  if (!sendsResets(services))
    throw new GatewayError(
      'conflict',
      'this gateway sends no mail (SMTP_HOST, PROXY_BASE_URL): ask an administrator for a link',
    )
  const limits = attemptLimits(services)
  const network = clientNetwork(request.clientAddress)
  const retryAfterMs = limits.resets.take(network)
  if (retryAfterMs > 0)
    throw new GatewayError('rate-limited', 'too many links were asked for from this address', { retryAfterMs })
  // Of an address that is asked about too often nothing more is said, or a stranger would learn that it is known.
  const address = asciiLower(email.trim())
  if (limits.resetsOfAddress.take(address) > 0) return
  // How long it takes must not show it, either: what is done begins at a time that no question decides on. A mail that
  // fails is in the log (`app/mail.ts`).
  setTimeout(() => void send(address, services).catch(() => {}), delayMsMin + Math.random() * delayMsRange)
}

/** Longer than an answer takes, and than the one to a question that is sent at once behind it. */
const delayMsMin = 1000
const delayMsRange = 2000

/** Only users who have a password: to others, who come by single sign-on, it would be a way around that. */
async function send(address: string, services: Services): Promise<void> {
  const { tenancy, passwords, current } = services
  const user = onlyOne(await tenancy.usersByEmail(address))
  if (!user || user.blocked || (await passwords.passwordOf(user.id)) === undefined) return
  const link = { userId: user.id, lifetimeMs, keepsOthers: true }
  const { token } = await passwords.createLink(link, { id: user.id, keyHash: 'forgotten-password' })
  await mailLink(services, user, {
    subject: 'Set a new password',
    lines: [
      `You can set a new password of ${user.id} by this link, once, within an hour:`,
      '',
      passwordLinkAt(current.settings.signIn.baseUrl!, token),
      '',
      'If you did not ask for it, nothing needs to be done: the present password stays.',
    ],
  })
}

/** An address that two users have names none of them. */
const onlyOne = (users: readonly User[]): User | undefined => (users.length === 1 ? users[0] : undefined)

interface ForgottenPasswordForm {
  readonly request: HttpRequest
  readonly services: Services
  readonly message?: string
  readonly status?: number
}

function pageOf({ request, services, message, status }: ForgottenPasswordForm): Answer {
  if (!sendsResets(services)) {
    const content = html`<p>This gateway sends no mail. Ask an administrator for a link to set a password.</p>`
    return pageAnswer({ title, content, message }, status)
  }
  const { field, cookie } = formToken(request, services)
  const content = html`<form method="post" action="forgotten-password">
${field}
<label>E-mail address
<input name="email" type="email" autocomplete="email" maxlength="${String(emailLengthMax)}" required autofocus></label>
<button>Send a link</button>
</form>
<p><a href="login">Back to the sign-in</a></p>`
  return { ...pageAnswer({ title, content, message }, status), cookies: [cookie] }
}

const page: Endpoint = {
  method: 'GET',
  paths: [forgottenPasswordPath],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'getForgottenPasswordPage',
    summary: 'A page without script to ask for a link by mail, by which a forgotten password is replaced',
    tag: 'Sign-in',
    success: { 'text/html': text },
    headers: ['set-cookie'],
    failures: [403],
  },
  handle: (request, services) => pageOf({ request, services }),
}

const requestLink: Endpoint = {
  method: 'POST',
  paths: [forgottenPasswordPath],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'askForPasswordLink',
    summary: 'Have a link mailed to a user who has forgotten the password; the answer is the same for every address',
    tag: 'Sign-in',
    request: body,
    success: json(passwordLinkAskedSchema),
    failures: [403, 409, 429],
  },
  async handle(request, services) {
    if (isForm(request)) return askByForm(request, services)
    checkOwnOrigin(request, services)
    ask((await readJsonAs(request, body())).email, request, services)
    return answerOf(passwordLinkAskedSchema, { message: confirmation })
  },
}

async function askByForm(request: HttpRequest, services: Services): Promise<Answer> {
  const fields = await readForm(request)
  const again = (message: string, status: number) => pageOf({ request, services, message, status })
  if (!isOwnForm(request, fields, services)) return again('The page was too old. Please try again.', 403)
  const email = (fields.get('email') ?? '').slice(0, emailLengthMax)
  if (!email.includes('@')) return again('The address is missing.', 422)
  try {
    ask(email, request, services)
    return pageAnswer({ title, message: confirmation, content: html`<p><a href="login">Back to the sign-in</a></p>` })
  } catch (thrown) {
    return refusalPage(thrown, again)
  }
}

/** The page, and what it sends. */
export const forgottenPasswordEndpoints: readonly Endpoint[] = [page, requestLink]
