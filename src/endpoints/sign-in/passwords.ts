/** Passwords: changed by their users, set by links that administrators make. */
import { signedInSchema } from './common/signed-in.ts'
import { z } from 'zod'
import { actorOf } from '../../access/actor.ts'
import { keyName } from '../../access/fields/checks.ts'
import { managesAll } from '../../core/caller.ts'
import type { Answer } from '../../core/answer.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import { forbidden } from '../common/answers.ts'
import { answerOf, withBody, withQuery } from '../common/json-endpoint.ts'
import { checkNoAdministrator, findUser } from '../tenancy/common/access.ts'
import { html } from '../../lib/html.ts'
import { readJsonAs } from '../common/checked-input.ts'
import { boolean, constant, dateTime, described, json, named, nullable, shape, text } from '../openapi/schema.ts'
import { gatewayAddress } from '../../sign-in/gateway-address.ts'
import { mailLink, notSent, passwordLinkAt } from './common/link-mail.ts'
import { readForm } from './common/oauth.ts'
import { checkOwnOrigin, formToken, isForm, isOwnForm } from './pages/form.ts'
import { signedIn } from './pages/signed-in.ts'
import { hiddenField, movedAnswer, pageAnswer, refusalPage } from './pages/page.ts'
import { lazy } from '../../lib/lazy.ts'
import { dateOf } from '../common/configured-change.ts'

const passwordSetSchema = named('PasswordSet', () => shape({ user_id: text, changed: constant(true) }))

const invitationSchema = named('Invitation', () =>
  shape({
    id: text,
    user_id: text,
    url: described('The address is shown this one time.', text),
    created_at: dateTime,
    created_by: text,
    expires_at: dateTime,
    is_accepted: constant(false),
    email_sent: boolean,
    email_problem: described('Why no mail was sent though it was asked for.', nullable(text)),
  }),
)

const withdrawnInvitationSchema = named('WithdrawnInvitation', () => shape({ withdrawn: constant(true) }))

const tag = 'Sign-in'
const passwordLengthMax = 256
const linkLifetimeMs = 72 * 3_600_000

const password = lazy(() => z.string().min(1).max(passwordLengthMax).describe('It must have 12 to 256 characters.'))

const passwordBody = lazy(() =>
  z.strictObject({
    user_id: keyName().optional().describe('Whom it is about; absent = the caller.'),
    current_password: z.string().max(passwordLengthMax).optional().describe('Of users who change their own.'),
    new_password: password(),
  }),
)

const passwordSet = withBody(passwordBody, {
  paths: ['/sign-in/password'],
  auth: 'key',
  tag,
  answer: passwordSetSchema,
  operationId: 'setPassword',
  summary: 'Change the own password, or as an administrator that of a user; other sessions of the user end',
  failures: [403, 404, 429],
  async handle(body, { services, caller, request }) {
    const { user_id: namedUserId, current_password: current, new_password: newPassword } = body
    const { session } = caller
    const ownId = session?.userId ?? undefined
    const userId = namedUserId ?? ownId
    if (userId === undefined) throw forbidden('name the user whose password is set', 'user_id')
    const isOwn = userId === ownId
    if (!isOwn && !managesAll(caller))
      throw forbidden(
        'only administrators set passwords of others, with keys that have no restriction of their own, and users ' +
          'their own once they are signed in',
      )
    if (!isOwn) checkNoAdministrator(caller, (await services.tenancy.find('user', userId))?.role)
    if (isOwn && current === undefined)
      throw forbidden('send the present password, so that a stolen session cannot change it', 'current_password')
    await services.login.setPassword({
      userId,
      password: newPassword,
      current: isOwn ? current : undefined,
      actor: actorOf(caller),
      request,
      keepSessionId: isOwn ? session?.id : undefined,
    })
    return { user_id: userId, changed: true as const }
  },
})

const invitationBody = lazy(() =>
  z.strictObject({
    user_id: keyName().optional(),
    user_email: keyName().optional().describe('It is sent in place of the id.'),
    send_email: z
      .boolean()
      .optional()
      .describe('By mail to the user, where a mail server is named (SMTP_HOST); true when left out.'),
  }),
)

const invite = withBody(invitationBody, {
  paths: ['/sign-in/invitations', '/invitation/new'],
  auth: 'admin',
  tag,
  answer: invitationSchema,
  operationId: 'createInvitation',
  summary: 'Make a link by which a user sets a password, once, within 72 hours; links of before end',
  failures: [404],
  async handle({ user_id: id, user_email: email, send_email: send = true }, { services, caller, request }) {
    if (id === undefined && email === undefined)
      throw unprocessable([
        { loc: ['body', 'user_id'], msg: 'is missing; name a user by it or by `user_email`', type: 'missing' },
      ])
    const user = await findUser(services.tenancy, { user_id: id, user_email: id === undefined ? email : undefined })
    if (!user)
      throw new GatewayError('not-found', 'there is no such user', {
        param: id === undefined ? 'user_email' : 'user_id',
      })
    checkNoAdministrator(caller, user.role)
    if (user.blocked)
      throw new GatewayError('conflict', 'the user is blocked; unblock the user first', { param: 'user_id' })
    const { link, token } = await services.passwords.createLink(
      { userId: user.id, lifetimeMs: linkLifetimeMs },
      actorOf(caller),
    )
    const address = gatewayAddress(request.headers, services.current.settings.signIn)
    const url = passwordLinkAt(address, token)
    const mail = send ? await mailLink(services, user, invitationMail(user, url)) : notSent
    return {
      id: link.id,
      user_id: link.userId,
      url,
      created_at: dateOf(link.createdAtMs),
      created_by: link.createdBy,
      expires_at: dateOf(link.endMs),
      is_accepted: false as const,
      ...mail,
    }
  },
})

const invitationMail = ({ id }: User, url: string) => ({
  subject: 'Set your password',
  lines: [
    `You can set the password of ${id} by this link, once, within 72 hours:`,
    '',
    url,
    '',
    'If you did not expect this mail, nothing needs to be done.',
  ],
})

const withdraw = withQuery(() => z.strictObject({}), {
  method: 'DELETE',
  paths: ['/sign-in/invitations/{id}'],
  auth: 'admin',
  tag,
  answer: withdrawnInvitationSchema,
  operationId: 'withdrawInvitation',
  summary: 'Withdraw a link that was not used yet',
  failures: [404],
  async handle(_, { services, caller, request }) {
    if (!(await services.passwords.withdrawLink(request.params.id!, actorOf(caller))))
      throw new GatewayError('not-found', 'there is no such invitation, or it was used', { param: 'id' })
    return { withdrawn: true as const }
  },
})

interface PasswordForm {
  readonly request: HttpRequest
  readonly services: Services
  readonly token: string
  readonly message?: string
  readonly status?: number
}

function passwordPageAnswer({ request, services, token, message, status }: PasswordForm): Answer {
  const { field, cookie } = formToken(request, services)
  const action = request.path.startsWith('/fallback/') ? '../sign-in/claim' : 'claim'
  const content = html`<form method="post" action="${action}">
${field}
${hiddenField('token', token)}
<label>New password, at least 12 characters
<input name="password" type="password" autocomplete="new-password" minlength="12" required autofocus></label>
<label>Again
<input name="repeated" type="password" autocomplete="new-password" minlength="12" required></label>
<button>Set the password</button>
</form>`
  return { ...pageAnswer({ title: 'Set your password', content, message }, status), cookies: [cookie] }
}

const passwordPage: Endpoint = {
  method: 'GET',
  paths: ['/fallback/password'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'getPasswordPage',
    summary: 'A page without script to set a password by a link',
    tag,
    query: { token: { schema: text, description: 'It is the token of the link.', required: true } },
    success: { 'text/html': text },
    headers: ['set-cookie'],
    failures: [403],
  },
  // The token is used by the form alone: what looks at links in mails must not use it up.
  handle: (request, services) => passwordPageAnswer({ request, services, token: tokenIn(request.query) }),
}

const tokenIn = (fields: URLSearchParams): string => (fields.get('token') ?? '').slice(0, tokenLengthMax)
const tokenLengthMax = 100

const claimBody = lazy(() => z.strictObject({ token: z.string().min(1).max(tokenLengthMax), password: password() }))

const claim: Endpoint = {
  method: 'POST',
  paths: ['/sign-in/claim'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'claimInvitation',
    summary: 'Set a password by a link, and sign in',
    tag,
    request: claimBody,
    success: json(signedInSchema),
    headers: ['set-cookie'],
    failures: [403, 404, 429],
  },
  async handle(request, services) {
    if (isForm(request)) return claimByForm(request, services)
    checkOwnOrigin(request, services)
    const body = await readJsonAs(request, claimBody())
    const { session, cookies } = await services.login.claim({ ...body, request })
    return { ...answerOf(signedInSchema, signedIn(session, services)), cookies }
  },
}

async function claimByForm(request: HttpRequest, services: Services): Promise<Answer> {
  const fields = await readForm(request)
  const token = tokenIn(fields)
  const again = (message: string, status: number) => passwordPageAnswer({ request, services, token, message, status })
  if (!isOwnForm(request, fields, services)) return again('The page was too old. Please try again.', 403)
  const chosen = fields.get('password') ?? ''
  if (chosen !== fields.get('repeated')) return again('The two passwords differ.', 422)
  try {
    const { cookies } = await services.login.claim({ token, password: chosen, request })
    return movedAnswer('../ui/', cookies)
  } catch (thrown) {
    return refusalPage(thrown, again)
  }
}

/** Everything about passwords. */
export const passwordEndpoints: readonly Endpoint[] = [passwordSet, invite, withdraw, passwordPage, claim]
