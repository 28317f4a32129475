/** Sign-in with identity providers, on the paths that LiteLLM's users have registered there. */
import { isFromBrowser } from '../common/request-heads.ts'
import type { Answer } from '../../core/answer.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/request.ts'
import { html } from '../../lib/html.ts'
import type { Html } from '../../lib/html.ts'
import { clientNetwork } from '../../lib/attempt-limit.ts'
import { attemptLimits } from './common/attempt-limits.ts'
import { pageAnswer, refusalPage } from './pages/page.ts'

const fallbackPath = '/fallback/login'
const beginPath = '/sso/key/generate'
/** Offers every way in. */
const loginPath = '/ui/login'

/** What the OpenAPI document says of each. */
const about = {
  tag: 'Sign-in',
  success: {},
  successStatus: 302,
  headers: ['location', 'set-cookie'],
  failures: [403, 503],
} as const

/** No page of another origin may read what they answer. */
const open = { method: 'GET', auth: 'none', crossOrigin: false } as const

const begin: Endpoint = {
  ...open,
  paths: [beginPath],
  doc: {
    ...about,
    operationId: 'beginSingleSignOn',
    summary: 'Begin to sign in: sends the browser to the identity provider',
    query: {
      provider: { schema: { type: 'string' }, description: 'The name of a provider; it is the first when left out.' },
      return_to: { schema: { type: 'string' }, description: 'A path of the gateway, where the browser goes on.' },
    },
  },
  handle: (request, services) =>
    asPage(request, services, async () => {
      const { singleSignOn } = services
      // Without a provider there are other ways in.
      if (singleSignOn.providers().length === 0) return redirect(singleSignOn.pageAt(loginPath, request))
      const provider = request.query.get('provider')
      const { location, cookies } = await singleSignOn.begin(
        { provider, returnTo: request.query.get('return_to') },
        request,
      )
      return redirect(location, cookies)
    }),
}

const callback: Endpoint = {
  ...open,
  paths: ['/sso/callback', '/sso/callback/{provider}'],
  doc: {
    ...about,
    operationId: 'endSingleSignOn',
    summary:
      'Where the identity provider sends the browser back to: begins a session. Of several providers each has an ' +
      'address of its own, with its name',
    failures: [...about.failures, 429],
  },
  handle: (request, services) =>
    asPage(request, services, async () => {
      const { singleSignOn, signIn } = services
      const network = clientNetwork(request.clientAddress)
      const named = singleSignOn.providers().find(({ name }) => name === request.params.provider)?.name ?? ''
      const { returns } = attemptLimits(services)
      // One provider that fails must not use up the attempts with another.
      const attempts = `${network} ${named}`
      const retryAfterMs = returns.take(attempts)
      if (retryAfterMs > 0)
        throw new GatewayError('rate-limited', 'too many sign-ins from this address have failed', { retryAfterMs })
      const returned = { path: request.path, query: request.query, provenUserId: await signIn.userOf(request) }
      const { userId, returnTo, cookies } = await singleSignOn.finish(returned, request)
      returns.giveBack(attempts)
      const { setCookie } = await signIn.signIn({ userId, method: 'sso', request })
      return redirect(singleSignOn.pageAt(returnTo, request), [setCookie, ...cookies])
    }),
}

const signOut: Endpoint = {
  ...open,
  paths: ['/sso/logout'],
  doc: {
    ...about,
    operationId: 'signOutOfSingleSignOn',
    summary: "End the session, and the provider's own where it has a page for it",
  },
  handle: (request, services) =>
    asPage(request, services, async () => {
      const { singleSignOn, signIn } = services
      if (request.headers.get('sec-fetch-site') === 'cross-site')
        throw new GatewayError('forbidden', 'the page of another site has asked to sign you out; do so here yourself')
      const { userId, setCookie } = await signIn.signOut(request)
      const away = userId === null ? undefined : await singleSignOn.signOutAt(userId, request)
      return redirect(away ?? singleSignOn.pageAt('/', request), [setCookie, singleSignOn.forgetting(request)])
    }),
}

/** Everything under `/sso`. */
export const singleSignOnEndpoints: readonly Endpoint[] = [begin, callback, signOut]

function redirect(location: string, cookies: readonly string[] = []): Answer {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 302, headers, body: null, cookies }
}

/** The work's answer, or for a browser a page that says in a sentence why it failed. */
async function asPage(request: HttpRequest, { singleSignOn }: Services, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (thrown) {
    // Programs get the error as JSON.
    if (!isFromBrowser(request)) throw thrown
    const content = otherWays(request, singleSignOn)
    return refusalPage(thrown, (message, status) =>
      pageAnswer({ title: 'You are not signed in', message, content }, status),
    )
  }
}

function otherWays(request: HttpRequest, singleSignOn: Services['singleSignOn']): Html {
  const way = (path: string, label: string) =>
    html`<li><a href="${singleSignOn.pageAt(path, request)}">${label}</a></li>`
  const ways = singleSignOn
    .providers()
    .map(({ name, displayName }) => way(`${beginPath}?provider=${name}`, `Sign in with ${displayName}`))
  return html`<ul>${[...ways, way(fallbackPath, 'Sign in without single sign-on')]}</ul>`
}
