/** Where a person approves the sign-in of a program (RFC 8628, 3.3): pages without script. */
import { actorOf } from '../../access/actor.ts'
import { readUserCode } from '../../access/user-code.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { DeviceGrant } from '../../core/sign-in/device-sign-in.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { readBody } from '../../core/request.ts'
import type { HttpRequest } from '../../core/request.ts'
import { isFromBrowser } from '../common/request-heads.ts'
import { html } from '../../lib/html.ts'
import type { Html } from '../../lib/html.ts'
import { text } from '../openapi/schema.ts'
import { attemptLimits } from './common/attempt-limits.ts'
import { hiddenField, pageAnswer, refusalPage } from './pages/page.ts'

const pagePath = '/device'
const formBytesMax = 16 * 1024

/** Who is not signed in is sent to sign in, and back. */
function pageOfError(error: GatewayError, request: HttpRequest): Answer {
  const { method, query } = request
  if (error.kind !== 'unauthenticated' || method === 'POST' || !isFromBrowser(request))
    return refusalPage(error, (message, status) =>
      pageAnswer({ title: 'This did not work', message, content: html`` }, status),
    )
  const code = readUserCode(query.get('user_code') ?? '')
  const back = code === undefined ? pagePath : `${pagePath}?user_code=${code}`
  const location = `fallback/login?return_to=${encodeURIComponent(back)}`
  return { status: 303, headers: { location, 'cache-control': 'no-store' }, body: null }
}

const docOf = (operationId: string, summary: string) => ({
  operationId,
  summary,
  tag: 'Sign-in',
  success: { 'text/html': text },
  failures: [303, 400, 403, 429],
})

/** Asks for the code, or shows what it stands for. Looking approves nothing. */
export const devicePage: Endpoint = {
  method: 'GET',
  paths: [pagePath],
  auth: 'key',
  crossOrigin: false,
  pageOfError,
  doc: {
    ...docOf('getDevicePage', 'The page on which a person approves the sign-in of a program'),
    query: { user_code: { schema: { type: 'string' }, description: 'It is the code that the program shows.' } },
  },
  async handle({ query }, services, caller) {
    const userId = signedInUser(caller!)
    const typed = query.get('user_code')
    if (typed === null) return codePage()
    const grant = await grantOf(typed, userId, services)
    return grant ? approvalPage(grant, caller!, services) : codePage('That code is not known or has expired.', typed)
  },
}

/** Approves or denies. The session proves the person, and its rules that the form is this page's own. */
export const deviceDecision: Endpoint = {
  method: 'POST',
  paths: [pagePath],
  auth: 'key',
  crossOrigin: false,
  pageOfError,
  doc: {
    ...docOf('decideDevice', 'Approve or deny the sign-in of a program'),
    requestType: 'multipart/form-data',
    request: {
      type: 'object',
      properties: {
        user_code: { type: 'string' },
        decision: { enum: ['approve', 'deny'] },
        team_id: { type: 'string', description: 'The team that is charged; empty or absent = none.' },
      },
      required: ['user_code', 'decision'],
    },
  },
  async handle(request, services, caller) {
    const userId = signedInUser(caller!)
    const form = await readFields(request)
    const decision = form.get('decision')
    if (decision !== 'approve' && decision !== 'deny')
      throw new GatewayError('invalid-request', 'decision: must be `approve` or `deny`', { param: 'decision' })
    const grant = await grantOf(form.get('user_code') ?? '', userId, services)
    const owner = decision === 'approve' ? { userId, teamId: teamOf(form.get('team_id') ?? '', caller!) } : null
    const isDecided = grant && (await services.deviceSignIns.decide(grant.userCode, owner, actorOf(caller!)))
    if (!isDecided) return codePage('That code is not known, has expired, or was decided already.')
    if (!owner)
      return pageAnswer({ title: 'Denied', content: html`<p>Nothing was signed in. You can close this page.</p>` })
    return pageAnswer({
      title: 'Signed in',
      content: html`<p>${grant.client} is signed in for you. You can close this page.</p>
<p>To end it, run <code>modelgate logout</code> there, or sign out everywhere.</p>`,
    })
  },
}

/** Throws `forbidden` unless a user has signed in with a browser. */
function signedInUser({ session, key }: Caller): string {
  if (!session)
    throw new GatewayError('forbidden', 'a person has to approve programs: open this page in a browser, without a key')
  if (key.userId === null)
    throw new GatewayError(
      'forbidden',
      'you are signed in as the operator, for whom no program can be signed in: sign out, and in again as a user',
    )
  return key.userId
}

async function grantOf(typed: string, userId: string, services: Services): Promise<DeviceGrant | undefined> {
  const code = readUserCode(typed)
  const grant = code === undefined ? undefined : await services.deviceSignIns.waiting(code)
  if (grant) return grant
  const retryAfterMs = attemptLimits(services).wrongCodes.take(userId)
  if (retryAfterMs > 0)
    throw new GatewayError('rate-limited', 'too many wrong codes: wait some minutes, then begin the sign-in anew', {
      retryAfterMs,
    })
  return undefined
}

/** Throws `forbidden` for a team that the user is not in. null = none. */
function teamOf(teamId: string, caller: Caller): string | null {
  if (teamId === '') return null
  if (teamIdsOf(caller).includes(teamId)) return teamId
  throw new GatewayError('forbidden', 'team_id: you are not in this team; choose one of yours', { param: 'team_id' })
}

const teamIdsOf = ({ memberships = [] }: Caller): string[] =>
  memberships.filter(one => one.kind === 'team').map(one => one.groupId)

function codePage(message?: string, typed = ''): Answer {
  const content = html`<p>Type the code that the program shows.</p>
<form method="get" action="device">
<label>Code <input name="user_code" value="${typed.slice(0, 20)}" placeholder="XXXX-XXXX" maxlength="20"
 autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus></label>
<button>Continue</button>
</form>`
  return pageAnswer({ title: 'Sign in a program', message, content }, message === undefined ? 200 : 400)
}

async function approvalPage(grant: DeviceGrant, caller: Caller, services: Services): Promise<Answer> {
  const { client, clientAddress, userCode, createdAtMs } = grant
  const seconds = Math.max(0, Math.round((services.clock.epochMs() - createdAtMs) / 1000))
  const name = caller.user?.email ?? caller.key.userId ?? ''
  const content = html`<p class="code">${userCode}</p>
<dl>
<dt>Program</dt><dd>${client}</dd>
<dt>Asked from</dt><dd>${clientAddress}</dd>
<dt>Asked</dt><dd>${seconds} seconds ago</dd>
<dt>Signs in</dt><dd>${name}</dd>
</dl>
<p><strong>Approve it only if you have just started it yourself, and it shows this code.</strong> It will call models
in your name and at your expense.</p>
<form method="post" action="device" enctype="multipart/form-data">
${hiddenField('user_code', userCode)}
${await teamChoice(caller, services)}
<button name="decision" value="approve">Approve</button>
<button name="decision" value="deny">Deny</button>
</form>`
  return pageAnswer({ title: 'Sign in this program?', content })
}

/** Who is in teams says which one is charged. */
async function teamChoice(caller: Caller, { tenancy }: Services): Promise<Html | undefined> {
  const ids = teamIdsOf(caller)
  if (ids.length === 0) return undefined
  const teams = await tenancy.findAll('team', ids)
  const options = teams
    .filter(one => !one.blocked)
    .map(({ id, alias }) => html`<option value="${id}">${alias ?? id}</option>`)
  return html`<label>Charged to <select name="team_id">${options}<option value="">no team</option></select></label>`
}

async function readFields(request: HttpRequest): Promise<Map<string, string>> {
  const bytes = await readBody(request.body, formBytesMax)
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  try {
    const form = await new Response(Buffer.from(bytes), { headers }).formData()
    return new Map([...form].map(([name, value]) => [name, String(value)]))
  } catch (cause) {
    throw new GatewayError('invalid-request', 'the body must be a form: `content-type: multipart/form-data`', { cause })
  }
}
