/** LiteLLM's two paths for the link of an invitation; here the link is the secret, and no key is made from it. */
import { signedInSchema } from './common/signed-in.ts'
import { z } from 'zod'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import type { User } from '../../core/tenancy/tenancy.ts'
import { clientNetwork } from '../../lib/attempt-limit.ts'
import { lazy } from '../../lib/lazy.ts'
import { gatewayAddress } from '../../sign-in/gateway-address.ts'
import { readJsonAs } from '../common/checked-input.ts'
import { json, named, nullable, shape, text } from '../openapi/schema.ts'
import { attemptLimits } from './common/attempt-limits.ts'
import { passwordLinkAt } from './common/link-mail.ts'
import { checkOwnOrigin } from './pages/form.ts'
import { signedIn } from './pages/signed-in.ts'
import { answerOf } from '../common/json-endpoint.ts'

const onboardingTokenSchema = named('OnboardingToken', () =>
  shape({ login_url: text, token: text, user_id: text, user_email: nullable(text) }),
)

const tokenLengthMax = 100
const passwordLengthMax = 256

const gone = (): GatewayError =>
  new GatewayError('not-found', 'the link was used, withdrawn, or is too old; ask for another', {
    param: 'invitation_link',
  })

/** The user of a link that may still be used. Throws `not-found`, and `rate-limited` after many that are none. */
async function userOf(token: string, request: HttpRequest, services: Services): Promise<User> {
  const { links } = attemptLimits(services)
  const network = clientNetwork(request.clientAddress)
  const retryAfterMs = links.take(network)
  if (retryAfterMs > 0) throw new GatewayError('rate-limited', 'too many links were tried', { retryAfterMs })
  const link = await services.passwords.findLink(token.slice(0, tokenLengthMax))
  const user = link && (await services.tenancy.find('user', link.userId))
  if (!user || user.blocked) throw gone()
  links.giveBack(network)
  return user
}

const look: Endpoint = {
  method: 'GET',
  paths: ['/onboarding/get_token'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'getOnboardingToken',
    summary: 'Whose link it is, and the page on which it is used; looking does not use it up',
    tag: 'Sign-in',
    query: {
      invite_link: { schema: text, description: 'It is the token in the `url` of an invitation.', required: true },
    },
    success: json(onboardingTokenSchema),
    failures: [404, 429],
  },
  async handle(request, services) {
    const token = request.query.get('invite_link') ?? ''
    const user = await userOf(token, request, services)
    const address = gatewayAddress(request.headers, services.current.settings.signIn)
    const answer = { login_url: passwordLinkAt(address, token), token, user_id: user.id, user_email: user.email }
    return answerOf(onboardingTokenSchema, answer, 200, { 'cache-control': 'no-store' })
  },
}

const claimBody = lazy(() =>
  z.strictObject({
    invitation_link: z.string().min(1).max(tokenLengthMax),
    user_id: z.string().max(320).optional().describe('Must be the user of the link.'),
    password: z.string().min(1).max(passwordLengthMax).describe('It must have 12 to 256 characters.'),
  }),
)

const claim: Endpoint = {
  method: 'POST',
  paths: ['/onboarding/claim_token'],
  auth: 'none',
  crossOrigin: false,
  doc: {
    operationId: 'claimOnboardingToken',
    summary: 'Set a password by the link of an invitation, and sign in',
    tag: 'Sign-in',
    request: claimBody,
    success: json(signedInSchema),
    headers: ['set-cookie'],
    failures: [403, 404, 429],
  },
  async handle(request, services) {
    checkOwnOrigin(request, services)
    const { invitation_link: token, user_id: userId, password } = await readJsonAs(request, claimBody())
    const user = await userOf(token, request, services)
    if (userId !== undefined && userId !== user.id) throw gone()
    const { session, cookies } = await services.login.claim({ token, password, request })
    return { ...answerOf(signedInSchema, signedIn(session, services)), cookies }
  },
}

/** Both paths. */
export const onboardingEndpoints: readonly Endpoint[] = [look, claim]
